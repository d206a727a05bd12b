"""What servers of tests need of http.server, which takes 35 ms of a processor to import: tests start
servers by the hundred.

A Handler has a method do_METHOD for each method that it answers. It has command, path, headers, rfile and
wfile, as those of http.server, and closes the connection after an answer with close_connection."""
import socketserver

STATUS_WORDS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 429: "Too Many Requests",
                500: "Internal Server Error", 503: "Service Unavailable"}


class Headers:
    """The fields of a request, of which the last of a name counts; names are found in any case."""

    def __init__(self):
        self.fields = {}

    def add(self, name, value):
        self.fields[name.lower()] = (name, value)

    def get(self, name, default=None):
        return self.fields.get(name.lower(), (name, default))[1]

    def __getitem__(self, name):
        return self.get(name)

    def __contains__(self, name):
        return name.lower() in self.fields

    def items(self):
        return list(self.fields.values())


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        self.close_connection = False
        while not self.close_connection and self.read_head():
            getattr(self, "do_" + self.command)()

    def read_head(self):
        words = self.rfile.readline().decode("latin-1").split()
        if len(words) != 3:
            return False
        self.command, self.path, _ = words
        self.headers = Headers()
        while line := self.rfile.readline().decode("latin-1").strip():
            name, _, value = line.partition(":")
            self.headers.add(name, value.strip())
        self.close_connection = self.headers.get("Connection", "").lower() == "close"
        if self.headers.get("Expect", "").lower() == "100-continue":
            self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        return True

    def send_response(self, status):
        self.head = f"HTTP/1.1 {status} {STATUS_WORDS.get(status, '')}\r\n"

    def send_header(self, name, value):
        self.head += f"{name}: {value}\r\n"
        if name.lower() == "connection" and value.lower() == "close":
            self.close_connection = True

    def end_headers(self):
        self.wfile.write((self.head + "\r\n").encode("latin-1"))


class Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """Listens on a port of loopback, which is server_port."""
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def __init__(self, handler):
        super().__init__(("127.0.0.1", 0), handler)
        self.server_port = self.server_address[1]
