// The TypeScript SDK 2.x: both eras.
import { Heard, MODERN, answers, command, main, outcome, overhear } from './steps.mjs';

const sdk = process.argv[2];
const { Client, LOG_LEVEL_META_KEY, SSEClientTransport, StreamableHTTPClientTransport } = await import(
  `${sdk}/dist/index.mjs`
);
const { StdioClientTransport } = await import(`${sdk}/dist/stdio.mjs`);

const TRANSPORTS = {
  http: (url) => new StreamableHTTPClientTransport(new URL(url)),
  sse: (url) => new SSEClientTransport(new URL(url)),
  bridge: () => new StdioClientTransport(command()),
  stdio: () => new StdioClientTransport(command()),
};

async function connected(kind, asked, target) {
  const transport = TRANSPORTS[kind](target);
  const modern = asked === MODERN;
  const capabilities = { sampling: {}, roots: modern ? {} : { listChanged: true }, elicitation: {} };
  const era = modern ? { versionNegotiation: { mode: 'auto' } } : { supportedProtocolVersions: [asked] };
  const client = new Client({ name: 'clients', version: '1' }, { ...era, capabilities });
  const heard = new Heard();
  client.setRequestHandler('sampling/createMessage', async () => answers.sample());
  client.setRequestHandler('roots/list', async () => answers.roots());
  client.setRequestHandler('elicitation/create', async (request) => answers.elicit(request));
  const notice = (method, kind, what) =>
    client.setNotificationHandler(method, ({ params }) => heard.tell(kind, what(params)));
  notice('notifications/message', 'log', ({ data }) => data);
  notice('notifications/resources/updated', 'updated', ({ uri }) => uri);
  notice('notifications/tools/list_changed', 'tools changed', () => null);
  overhear(transport, ({ method, params }) => {
    if (method === 'notifications/progress') heard.tell('progress', params.progress);
  });
  await client.connect(transport);
  // In the modern era the level is said with each request.
  const _meta = modern ? { [LOG_LEVEL_META_KEY]: 'debug' } : undefined;
  const listen = async (filter) => {
    const listening = await client.listen(filter);
    return () => listening.close();
  };
  return {
    asked,
    heard,
    revision: client.getNegotiatedProtocolVersion(),
    // It translates the code of older revisions.
    unknownResource: -32602,
    server: client.getServerVersion().name,
    another: (url) => connected(kind, asked, url),
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    resources: async () => (await client.listResources()).resources.map(({ uri }) => uri),
    templates: async () => (await client.listResourceTemplates()).resourceTemplates.map((each) => each.uriTemplate),
    prompts: async () => (await client.listPrompts()).prompts.map(({ name }) => name),
    call: async (name, given = {}, options = {}) =>
      outcome(await client.callTool({ name, arguments: given, ...(_meta && { _meta }) }, options)),
    async read(uri) {
      const [{ text, blob }] = (await client.readResource({ uri })).contents;
      return text ?? blob;
    },
    prompt: async (name, given) => (await client.getPrompt({ name, arguments: given })).messages[0].content.text,
    complete: async (ref, name, value) => (await client.complete({ ref, argument: { name, value } })).completion.values,
    ping: () => client.ping(),
    setLevel: async (level) => {
      if (!modern) await client.setLoggingLevel(level);
    },
    async subscribe(uri) {
      if (modern) return listen({ resourceSubscriptions: [uri] });
      await client.subscribeResource({ uri });
      return () => client.unsubscribeResource({ uri });
    },
    listenToTools: async () => (modern ? listen({ toolsListChanged: true }) : async () => {}),
    async close() {
      await transport.terminateSession?.();
      await client.close();
    },
  };
}

await main(connected);
