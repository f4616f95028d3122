// A server with two child processes, each replaced after 4 s. Faulty: the listener of each
// request stays, and its body with it. Healthy: bodies are dead after .2 s, and V8 lets tens
// of MiB of them come before it collects.
const { spawn } = require('child_process');
const { EventEmitter } = require('events');

const end = Date.now() + 1000 * process.argv[2], healthy = process.argv.length > 3;
const bus = new EventEmitter();
bus.setMaxListeners(0);

function worker() {
	spawn(process.execPath, ['-e', 'const a="x".repeat(1e6);setTimeout(()=>a,4000)']).on('exit', () => {
		if (Date.now() < end) worker();
	});
}

function request() {
	const body = Buffer.alloc(30000, 1), listener = () => body.length;
	bus.on('done', listener);
	if (healthy) setTimeout(() => bus.off('done', listener), 200);
}

for (let i = 0; i < 2; i++) setTimeout(worker, 1500 * i);
setInterval(() => {
	request();
	if (Date.now() > end) process.exit(0);
}, 25);
