// The TypeScript SDK 1.x, from 1.7 on.
import { Heard, answers, command, main, outcome, overhear } from './steps.mjs';

// Each release is installed beside the others, so the command line says where.
const sdk = (file) => import(`${process.argv[2]}/${file}`);
const { Client } = await sdk('client/index.js');
const types = await sdk('types.js');

const TRANSPORTS = {
  http: async (url) => new (await sdk('client/streamableHttp.js')).StreamableHTTPClientTransport(new URL(url)),
  sse: async (url) => new (await sdk('client/sse.js')).SSEClientTransport(new URL(url)),
  websocket: async (url) => new (await sdk('client/websocket.js')).WebSocketClientTransport(new URL(url)),
  bridge: async () => new (await sdk('client/stdio.js')).StdioClientTransport(command()),
};
TRANSPORTS.stdio = TRANSPORTS.bridge;

async function connected(kind, asked, target) {
  const transport = await TRANSPORTS[kind](target);
  const send = transport.send.bind(transport);
  let revision;
  // It asks for the newest revision that it knows, and accepts each of them.
  transport.send = (message, options) => {
    if (message.method !== 'initialize') return send(message, options);
    return send({ ...message, params: { ...message.params, protocolVersion: asked } }, options);
  };
  const capabilities = { sampling: {}, roots: { listChanged: true }, elicitation: {} };
  const client = new Client({ name: 'clients', version: '1' }, { capabilities });
  const heard = new Heard();
  const answer = (schema, how) => schema && client.setRequestHandler(schema, async (request) => how(request));
  answer(types.CreateMessageRequestSchema, answers.sample);
  answer(types.ListRootsRequestSchema, answers.roots);
  answer(types.ElicitRequestSchema, answers.elicit);
  const notice = (schema, kind, what) =>
    client.setNotificationHandler(schema, ({ params }) => heard.tell(kind, what(params)));
  notice(types.LoggingMessageNotificationSchema, 'log', ({ data }) => data);
  notice(types.ResourceUpdatedNotificationSchema, 'updated', ({ uri }) => uri);
  notice(types.ToolListChangedNotificationSchema, 'tools changed', () => null);
  overhear(transport, ({ method, params, result }) => {
    if (method === 'notifications/progress') heard.tell('progress', params.progress);
    // Only the answer to `initialize` says which it is.
    revision ??= result?.protocolVersion;
  });
  await client.connect(transport);
  return {
    asked,
    heard,
    revision,
    unknownResource: -32002,
    server: client.getServerVersion().name,
    another: (url) => connected(kind, asked, url),
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    resources: async () => (await client.listResources()).resources.map(({ uri }) => uri),
    templates: async () => (await client.listResourceTemplates()).resourceTemplates.map((each) => each.uriTemplate),
    prompts: async () => (await client.listPrompts()).prompts.map(({ name }) => name),
    call: async (name, given = {}, options = {}) =>
      outcome(await client.callTool({ name, arguments: given }, undefined, options)),
    async read(uri) {
      const [{ text, blob }] = (await client.readResource({ uri })).contents;
      return text ?? blob;
    },
    prompt: async (name, given) => (await client.getPrompt({ name, arguments: given })).messages[0].content.text,
    complete: async (ref, name, value) => (await client.complete({ ref, argument: { name, value } })).completion.values,
    ping: () => client.ping(),
    setLevel: (level) => client.setLoggingLevel(level),
    async subscribe(uri) {
      await client.subscribeResource({ uri });
      return () => client.unsubscribeResource({ uri });
    },
    listenToTools: async () => async () => {},
    async close() {
      await transport.terminateSession?.();
      await client.close();
    },
  };
}

await main(connected);
