// A plain load balancer: every HTTP request goes to the next gateway, whoever sent it.
//
// node balancer.mjs URL...   prints `listening URL` once it does.
//
// It knows nothing of sessions, buffers nothing, opens a connection of its own for each request, leaves `Host` as it
// is, and hangs up on either side when the other does. A WebSocket is one request.
import http from 'node:http';

const gateways = process.argv.slice(2).map((url) => new URL(url));
let next = 0;

// The same request, to the next gateway.
function forward({ method, url: path, headers }, connection, answered) {
  const { hostname, port } = gateways[next++ % gateways.length];
  return http.request({ hostname, port, method, path, headers: { ...headers, connection }, agent: false }, answered);
}

const balancer = http.createServer((request, response) => {
  const upstream = forward(request, 'close', (answer) => {
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
balancer.on('upgrade', (request, socket, early) => {
  const upstream = forward(request, request.headers.connection, () => socket.destroy());
  upstream.on('upgrade', (answer, peer, first) => {
    socket.write(`HTTP/1.1 101 Switching Protocols\r\n`);
    for (let i = 0; i < answer.rawHeaders.length; i += 2) {
      socket.write(`${answer.rawHeaders[i]}: ${answer.rawHeaders[i + 1]}\r\n`);
    }
    socket.write('\r\n');
    socket.write(first);
    peer.write(early);
    socket.pipe(peer).pipe(socket);
    peer.on('error', () => socket.destroy()).on('close', () => socket.destroy());
    socket.on('close', () => peer.destroy());
  });
  upstream.on('error', () => socket.destroy());
  socket.on('error', () => upstream.destroy());
  upstream.end();
});
balancer.keepAliveTimeout = 60_000;
balancer.listen(0, '127.0.0.1', () => {
  console.log(`listening http://127.0.0.1:${balancer.address().port}${gateways[0].pathname}`);
});
