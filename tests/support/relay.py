#!/usr/bin/env python3
"""Stands between a client and a server in tests, on a port of loopback ($PORT, or any)
that it prints:

relay.py proxy LOG           as an HTTP proxy: CONNECT, and requests with a whole URL. The
                             head of each connection's first request goes into LOG.
relay.py tls CERT KEY PORT   as a TLS server, in front of the plain one on PORT
relay.py old PORT            as a proxy that speaks HTTP/1.0 to the server on PORT, and 1.1 to
                             clients: an answer of no known length ends where the server's does,
                             though that be dead
"""
import os
import re
import socket
import ssl
import sys
import threading


def pump(source, sink):
    """Passes on what comes until it ends, then says so."""
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        source.close()
        sink.close()


def join(client, server):
    threading.Thread(target=pump, args=(server, client), daemon=True).start()
    pump(client, server)


def read_head(client):
    head = b""
    while not head.endswith(b"\r\n\r\n") and (byte := client.recv(1)):
        head += byte
    return head


def proxy(client, log):
    head = read_head(client)
    with open(log, "ab") as file:
        file.write(head)
    method, host, port = re.match(rb"(\S+) (?:http://)?([^:/]+):(\d+)", head).groups()
    server = socket.create_connection((host, int(port)))
    if method == b"CONNECT":
        client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    else:
        server.sendall(head)
    join(client, server)


def tls(client, certificate, key, port):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    try:
        client = context.wrap_socket(client, server_side=True)
    except OSError:
        return  # the client does not trust us
    join(client, socket.create_connection(("127.0.0.1", int(port))))


def old(client, port):
    head = read_head(client).replace(b" HTTP/1.1\r\n", b" HTTP/1.0\r\n")
    try:
        server = socket.create_connection(("127.0.0.1", int(port)))
        server.sendall(head)
        answer = read_head(server)
    except OSError:
        answer = b""
    if not answer:
        client.sendall(b"HTTP/1.1 502 X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        client.close()
        return
    answer = answer.replace(b"HTTP/1.0 ", b"HTTP/1.1 ")
    if re.search(rb"(?i)\r\ncontent-length:", answer):
        client.sendall(answer)
        pump(server, client)
        return
    client.sendall(answer[:-2] + b"Transfer-Encoding: chunked\r\n\r\n")
    try:
        while data := server.recv(65536):
            client.sendall(b"%x\r\n%s\r\n" % (len(data), data))
        client.sendall(b"0\r\n\r\n")
    except OSError:
        pass
    client.close()


def main():
    serve = {"proxy": proxy, "tls": tls, "old": old}[sys.argv[1]]
    listener = socket.create_server(("127.0.0.1", int(os.environ.get("PORT", 0))))
    print(listener.getsockname()[1], flush=True)
    while True:
        client, _ = listener.accept()
        threading.Thread(target=serve, args=(client, *sys.argv[2:]), daemon=True).start()


main()
