// A network between a browser and the server that can be cut, as a whole or behind so many bytes:
// of what follows the head of an answer, or before that. A head that is cut is taken for whole by
// Chromium, whose EventSource then closes, as it has no type.
import net from "node:net";

// to: the port of the server; header: one that each request gets, or "".
export function startRelay(to, header = "") {
	const sockets = new Set();
	let cut = false, limit = () => Infinity;
	const server = net.createServer((client) => {
		if (cut) {
			client.destroy();
			return;
		}
		const other = net.connect(to, "127.0.0.1");
		for (const socket of [client, other]) {
			sockets.add(socket);
			socket.on("error", () => {});
			socket.on("close", () => {
				sockets.delete(socket);
				client.destroy();
				other.destroy();
			});
		}
		client.on("data", (chunk) => other.write(header === "" ? chunk :
			Buffer.from(chunk.toString("latin1").replace(/^(GET [^\r]+\r\n)/gm, `$1${header}\r\n`), "latin1")));
		let left = limit(), begun = false;
		other.on("data", (chunk) => {
			if (!begun && left > 0)
				left += chunk.indexOf("\r\n\r\n") + 4;
			begun = true;
			client.write(chunk.subarray(0, Math.min(left, chunk.length)));
			left -= chunk.length;
			// What was written is on its way before the end.
			if (left <= 0)
				client.end(() => client.destroy());
		});
	});
	const end = () => sockets.forEach((socket) => socket.destroy());
	return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve({
		port: server.address().port,
		// Connections end, and no other is taken, until it is mended.
		cut() { cut = true; end(); },
		mend() { cut = false; },
		// Those there are end now; each further one behind as many bytes as limit says; 0: there
		// is no answer.
		end,
		limit(bytes) { limit = bytes; },
		close() { end(); server.close(); },
	})));
}
