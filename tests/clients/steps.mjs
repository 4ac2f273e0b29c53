// The steps that a TypeScript client goes through, whatever its SDK calls them; `steps.py` has the same.
//
// `node CLIENT.mjs SDK TRANSPORT REVISION STEP...` prints `PASSED STEP` or `FAILED STEP: why` for each, in the order of
// `STEPS`. A client gives `main` a way to connect; what that gives has the methods that are called here. The environment
// says what there is to meet: TARGET (a URL, or a command as a JSON list), OFFER (a file: what the server offers),
// WATCHED (a served file to write to), CUT (TARGET, with answers that break off), METRICS (what the entrances' operators
// look at).
import assert from 'node:assert/strict';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';

// How long a step may take, in milliseconds. A client that waits in vain is given up after this.
const PATIENCE = 30_000;

export const MODERN = '2026-07-28';
export const { TARGET, CUT } = process.env;
const OFFER = JSON.parse(readFileSync(process.env.OFFER, 'utf8'));
const WATCHED = process.env.WATCHED;
const WATCHED_URI = pathToFileURL(WATCHED).href;
const SAID = 'The model says so.';

// What the server told on its own account, by kind.
export class Heard {
  #told = [];
  #waiting = [];

  tell(kind, what) {
    this.#told.push({ kind, what });
    for (const go of this.#waiting.splice(0)) go();
  }

  of(kind) {
    return this.#told.filter((told) => told.kind === kind).map((told) => told.what);
  }

  async until(kind, enough) {
    while (!enough(this.of(kind))) await new Promise((go) => this.#waiting.push(go));
    return this.of(kind);
  }
}

// The program that speaks over standard input and output, and its arguments.
export function command() {
  const [program, ...args] = JSON.parse(TARGET);
  return { command: program, args };
}

// Tells each message that comes in over the transport to `tell`, before the SDK sees it.
export function overhear(transport, tell) {
  let receive;
  Object.defineProperty(transport, 'onmessage', {
    get: () => receive,
    set(how) {
      receive = how && ((message, ...rest) => (tell(message), how(message, ...rest)));
    },
  });
}

// What a client answers when it is asked.
export const answers = {
  elicit({ params }) {
    if (params.message === 'decline') return { action: 'decline' };
    return { action: 'accept', content: filledIn(params.requestedSchema) };
  },
  sample: () => ({ role: 'assistant', content: { type: 'text', text: SAID }, model: 'none', stopReason: 'endTurn' }),
  roots: () => ({ roots: [{ uri: 'file:///home/ada/project', name: 'project' }] }),
};

// A form, filled in: with the default, the last choice, or something of the type that is asked for.
function filledIn(schema) {
  const form = {};
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    const items = field.items ?? field;
    const choices = items.enum ?? (items.oneOf ?? items.anyOf)?.map((choice) => choice.const);
    const one = choices?.at(-1) ?? { string: 'Ada', boolean: true, integer: 1, number: 1.5 }[field.type];
    form[name] = field.default ?? (field.type === 'array' ? [one] : one);
  }
  return form;
}

// What a tool returned, in short.
export function outcome({ content, isError }) {
  const texts = content.filter((block) => block.type === 'text').map((block) => block.text);
  return { text: texts.join(''), kinds: content.map((block) => block.type), failed: isError ?? false };
}

function holds(all, ...parts) {
  for (const part of parts) assert(all.includes(part), `${part} is not in ${all}`);
}

async function codeOf(request) {
  const answer = await request.then(
    (answer) => JSON.stringify(answer),
    (error) => error,
  );
  assert(answer instanceof Error, `it was answered: ${answer}`);
  return answer.code;
}

// How many calls run at services, for all the entrances, beside the one by which each follows changes.
async function callsInFlight() {
  let calls = 0;
  for (const url of process.env.METRICS.split(/\s+/)) {
    const text = await (await fetch(url)).text();
    for (const [, count] of text.matchAll(/^switchyard_bus_calls_in_flight\{.*\} (\d+)$/gm)) calls += Number(count);
    calls -= 1;
  }
  return calls;
}

const STEPS = {
  connect(peer) {
    assert.equal(peer.revision, peer.asked);
    assert.equal(peer.server, 'switchyard');
  },

  async list(peer) {
    holds(await peer.tools(), ...OFFER.tools);
    holds(await peer.resources(), ...OFFER.resources, WATCHED_URI);
    holds(await peer.templates(), ...OFFER.templates);
    holds(await peer.prompts(), ...OFFER.prompts);
  },

  async call(peer) {
    const { name, arguments: given, text } = OFFER.call;
    assert.deepEqual(await peer.call(name, given), { text, kinds: ['text'], failed: false });
  },

  async content(peer) {
    assert.deepEqual((await peer.call('test_multiple_content_types')).kinds, ['text', 'image', 'resource']);
    assert.deepEqual((await peer.call('test_image_content')).kinds, ['image']);
    // What a client of 2024-11-05 cannot take is described to it.
    const audio = peer.asked === '2024-11-05' ? 'text' : 'audio';
    assert.deepEqual((await peer.call('test_audio_content')).kinds, [audio]);
  },

  async error(peer) {
    if (OFFER.fails) assert((await peer.call(OFFER.fails)).failed);
    assert.equal(await codeOf(peer.call('no_such_tool')), -32602);
    assert.equal(await codeOf(peer.read('file:///no/such/file')), peer.unknownResource);
  },

  async read(peer) {
    for (const [uri, text] of Object.entries(OFFER.texts)) assert.equal(await peer.read(uri), text);
    assert.equal(await peer.read(WATCHED_URI), readFileSync(WATCHED, 'utf8'));
  },

  async prompt(peer) {
    const { name, arguments: given, text } = OFFER.prompt;
    holds(await peer.prompt(name, given), text);
  },

  async complete(peer) {
    const prompt = { type: 'ref/prompt', name: 'test_prompt_with_arguments' };
    assert.deepEqual(await peer.complete(prompt, 'arg1', 'pa'), ['paris', 'park', 'party']);
    const template = { type: 'ref/resource', uri: 'test://template/{id}/data' };
    assert.deepEqual(await peer.complete(template, 'id', '12'), ['12', '123']);
  },

  ping: (peer) => peer.ping(),

  async progress(peer) {
    await peer.call('test_tool_with_progress', {}, { onprogress: () => {} });
    // As it came: the SDK forgets whom to tell once the result is there, and it may come in the same piece.
    assert.deepEqual(await peer.heard.until('progress', (told) => told.length >= 3), [0, 50, 100]);
  },

  async log(peer) {
    await peer.setLevel('debug');
    await peer.call('test_tool_with_logging');
    const told = await peer.heard.until('log', (told) => told.length >= 3);
    assert.deepEqual(told, ['Tool execution started', 'Tool processing data', 'Tool execution completed']);
  },

  async elicit(peer) {
    const answered = await peer.call('test_elicitation', { message: 'Who are you?' });
    assert.equal(answered.text, 'User response: action=accept, content={"username":"Ada","email":"Ada"}');
    holds((await peer.call('test_elicitation', { message: 'decline' })).text, 'action=decline');
  },

  async choose(peer) {
    const kept = await peer.call('test_elicitation_sep1034_defaults');
    holds(kept.text, '"name":"John Doe"', '"age":30', '"score":95.5', '"status":"active"', '"verified":true');
    const chosen = await peer.call('test_elicitation_sep1330_enums');
    holds(chosen.text, '"titledSingle":"value3"', '"legacyEnum":"opt3"', '"titledMulti":["value3"]');
  },

  async sample(peer) {
    assert.equal((await peer.call('test_sampling', { prompt: 'Is it so?' })).text, `LLM response: ${SAID}`);
  },

  async roots(peer) {
    const said = await peer.call('test_input_required_result_list_roots');
    assert.equal(said.text, 'The client works in 1 directories.');
  },

  async rounds(peer) {
    assert.equal((await peer.call('test_input_required_result_multi_round')).text, '"Ada" likes "Ada".');
    assert.equal((await peer.call('test_input_required_result_multiple_inputs')).text, 'There are three answers.');
    holds((await peer.call('test_input_required_result_request_state')).text, 'state-ok');
    holds(await peer.prompt('test_input_required_result_prompt', {}), 'It is about');
  },

  async subscribe(peer) {
    const unsubscribe = await peer.subscribe(WATCHED_URI);
    const fresh = `Written by process ${process.pid}, after it subscribed.\n`;
    const draft = `${dirname(WATCHED)}/.${basename(WATCHED)}`;
    writeFileSync(draft, fresh);
    renameSync(draft, WATCHED);
    // News may still be of how it was made, before.
    while ((await peer.read(WATCHED_URI)) !== fresh) {
      const seen = peer.heard.of('updated').length;
      await peer.heard.until('updated', (told) => told.length > seen);
    }
    await peer.heard.until('updated', (told) => told.includes(WATCHED_URI));
    await unsubscribe();
  },

  async changed(peer) {
    const stop = await peer.listenToTools();
    await peer.call('test_trigger_tool_change');
    await peer.heard.until('tools changed', (told) => told.length > 0);
    await stop();
  },

  async cancel(peer) {
    const aborting = new AbortController();
    const onprogress = () => aborting.abort('not wanted any more');
    const running = peer.call('test_until_cancelled', {}, { onprogress, signal: aborting.signal });
    await assert.rejects(running.finally(() => assert(aborting.signal.aborted, 'it ended before it was cancelled')));
    // They are asked again and again, for nobody tells of it.
    while (await callsInFlight()) await pause(50);
    await STEPS.call(peer);
  },

  async resume(peer) {
    const cutOff = await peer.another(CUT);
    assert.equal((await cutOff.call('test_reconnection')).text, 'Came through, on whichever stream.');
    await cutOff.close();
  },
};

async function inTime(work) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`it took longer than ${PATIENCE} ms`)), PATIENCE);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

async function pass(name, take) {
  try {
    await inTime(take());
    console.log(`PASSED ${name}`);
  } catch (error) {
    console.log(`FAILED ${name}: ${String(error?.message ?? error).replaceAll('\n', ' ')}`);
    console.error(error);
  }
}

// Goes through the steps that the command line names, with the peer that `connected` gives.
export async function main(connected) {
  const [, , , transport, revision, ...wanted] = process.argv;
  let peer;
  try {
    peer = await inTime(connected(transport, revision, TARGET));
  } catch (error) {
    console.log(`FAILED connect: ${error?.message}`);
    console.error(error);
    process.exit(1);
  }
  for (const [name, take] of Object.entries(STEPS)) {
    if (wanted.includes(name)) await pass(name, async () => take(peer));
  }
  await pass('close', () => peer.close());
  // Whatever still waits for an answer has been told of above.
  process.exit();
}
