// A plain load balancer: every HTTP request goes to the next gateway, whoever sent it.
//
// node balancer.mjs URL...   prints `listening URL` once it does.
//
// It knows nothing of sessions, buffers nothing, opens a connection of its own for each request, leaves `Host` as it
// is, and hangs up on either side when the other does.
import http from 'node:http';

const gateways = process.argv.slice(2).map((url) => new URL(url));
let next = 0;

const balancer = http.createServer((request, response) => {
  const { hostname, port } = gateways[next++ % gateways.length];
  const { method, url: path, headers } = request;
  const forward = { hostname, port, method, path, headers: { ...headers, connection: 'close' }, agent: false };
  const upstream = http.request(forward, (answer) => {
    delete answer.headers.connection;
    response.writeHead(answer.statusCode, answer.headers);
    response.flushHeaders();
    answer.pipe(response);
    answer.on('error', () => response.destroy());
  });
  upstream.on('error', () => response.destroy());
  response.on('close', () => upstream.destroy());
  request.pipe(upstream);
});
balancer.keepAliveTimeout = 60_000;
balancer.listen(0, '127.0.0.1', () => {
  console.log(`listening http://127.0.0.1:${balancer.address().port}${gateways[0].pathname}`);
});
