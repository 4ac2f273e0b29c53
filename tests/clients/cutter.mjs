// A bad connection: every event stream that answers a POST breaks off after its first event.
//
// node cutter.mjs URL   prints `listening URL` once it does.
//
// Only who takes the stream up again, by GET, gets the rest. A stream whose first event is the answer already breaks off
// before it, so that nobody passes without having been cut off.
import http from 'node:http';

const server = new URL(process.argv[2]);

const cutter = http.createServer((request, response) => {
  const { method, url: path, headers } = request;
  const forward = { hostname: server.hostname, port: server.port, method, path, headers, agent: false };
  const upstream = http.request(forward, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    response.flushHeaders();
    answer.on('error', () => response.destroy());
    if (method !== 'POST' || !answer.headers['content-type']?.startsWith('text/event-stream')) {
      answer.pipe(response);
      return;
    }
    let received = '';
    answer.setEncoding('utf8');
    answer.on('data', (piece) => {
      received += piece;
      // Comments are no events.
      const [first] = received.match(/^(id|data):.*\n(.+\n)*\n/m) ?? [];
      if (first === undefined) return;
      response.end(first.includes('"result"') ? '' : first);
      upstream.destroy();
    });
    answer.on('end', () => response.end());
  });
  upstream.on('error', () => response.destroy());
  response.on('close', () => upstream.destroy());
  request.pipe(upstream);
});
cutter.listen(0, '127.0.0.1', () => {
  console.log(`listening http://127.0.0.1:${cutter.address().port}${server.pathname}`);
});
