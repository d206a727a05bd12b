// What one writes with Node to send a growing file of lines to all who ask, as server-sent events:
// node sse-server.mjs FILE. Prints its port.
import fs from 'node:fs';
import http from 'node:http';

const file = fs.openSync(process.argv[2], 'r');
const clients = new Set();
const room = Buffer.alloc(1 << 20);
let at = fs.fstatSync(file).size;
let torn = '';

function read() {
	for (let got; (got = fs.readSync(file, room, 0, room.length, at)) > 0; at += got) {
		const lines = (torn + room.toString('utf8', 0, got)).split('\n');
		torn = lines.pop();
		for (const line of lines) {
			const message = `id: ${JSON.parse(line).seq}\ndata: ${line}\n\n`;
			for (const client of clients) client.write(message);
		}
	}
}
fs.watch(process.argv[2], read);

const server = http.createServer((request, response) => {
	response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache' });
	response.flushHeaders();
	clients.add(response);
	response.on('close', () => clients.delete(response));
});
server.listen(0, '127.0.0.1', 1024, () => console.log(server.address().port));
