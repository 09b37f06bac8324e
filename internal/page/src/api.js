// The interface of the host, asked with the session that this browser has.

/** A refusal of the host, or that it cannot be reached. */
export class Refusal extends Error {
  constructor(status, body) {
    super(body.message ?? 'the host cannot be reached');
    this.status = status;
    this.code = body.code ?? '';
    this.hint = body.hint ?? '';
  }
}

// Answers that came last, with the tags that the host gave them: what has not changed is
// not sent again. An answer is never changed in place.
const known = new Map();

// Fetches, and does so again where this browser has asked too often: such a request was
// not looked at.
async function fetched(path, options) {
  for (let times = 0; ; times++) {
    let reply;
    try {
      reply = await fetch('/api/v1/' + path, { credentials: 'same-origin', redirect: 'error', ...options });
    } catch {
      throw new Refusal(0, {});
    }
    if (reply.status !== 429 || times === 3) return reply;
    await new Promise((r) => setTimeout(r, 1000 * Number(reply.headers.get('Retry-After') ?? 1)));
  }
}

async function ask(path, options) {
  const had = options ? undefined : known.get(path);
  const reply = await fetched(path, options ?? { headers: had ? { 'If-None-Match': had.tag } : {} });
  if (reply.status === 304) return had.body;
  const body = await reply.json().catch(() => ({}));
  if (!reply.ok) throw new Refusal(reply.status, body);
  const tag = reply.headers.get('ETag');
  known.delete(path);
  if (!options && tag) known.set(path, { tag, body });
  if (known.size > 100) known.delete(known.keys().next().value);
  return body;
}

/** The address of a route: values that it names are in its path, others in the query.
 * @param {string} route
 * @param {Record<string, any>} values */
function address(route, values) {
  const rest = new Map(Object.entries(values).filter(([, v]) => v !== '' && v !== undefined));
  const path = route.replace(/\{(\w+)\}/g, (_, name) => {
    const value = rest.get(name);
    rest.delete(name);
    return encodeURIComponent(value);
  });
  return path + (rest.size ? '?' + new URLSearchParams([...rest]) : '');
}

/** Asks a route.
 * @template {import('./routes.d.ts').Route<'get'>} R
 * @param {R} route
 * @param {import('./routes.d.ts').Asked<R>} [values]
 * @returns {Promise<import('./routes.d.ts').Reply<'get', R>>} */
export const get = (route, values) => ask(address(route, values ?? {}));

/** Who is signed in here. */
export const whoIs = () => ask('session');

/** Has a route do something.
 * @template {import('./routes.d.ts').Route<'post'>} R
 * @param {R} route
 * @param {import('./routes.d.ts').Body<R>} body
 * @returns {Promise<import('./routes.d.ts').Reply<'post', R>>} */
export const post = (route, body) => send(route, body);

/** Ends the session of this browser. */
export const endSession = () => send('session/end', {});

const send = (path, body) =>
  ask(path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });

/** What the pages of a list have under a name, each once, until there are enough or no
 * more: as entries, with next where to go on.
 * @template {'beads' | 'executions' | 'inbox'} R
 * @template {keyof import('./routes.d.ts').Reply<'get', R> & string} N
 * @param {R} route
 * @param {N} name
 * @param {Omit<import('./routes.d.ts').Asked<R>, 'after'>} query
 * @param {(one: any) => boolean} wanted */
export async function pages(route, name, query, enough = Infinity, wanted = () => true) {
  const entries = new Map();
  for (let after = ''; ; ) {
    const v = await ask(address(route, { ...query, after }));
    for (const one of (v[name] ?? []).filter(wanted)) entries.set(one.id, one);
    after = v.next ?? '';
    if (!after || entries.size >= enough) return { entries: [...entries.values()], next: after };
  }
}

/** Tells replies that came in the order in which they were asked for from those that a
 * newer one has overtaken: it returns a function to call when one asks, which returns one
 * to call with the reply, which says whether it is the newest so far. */
export function inOrder() {
  let asked = 0, shown = 0;
  return () => {
    const n = ++asked;
    return () => n > shown && ((shown = n), true);
  };
}

/** The project of a bead, an approval or an execution. */
export const projectOf = (id) => id.replace(/(-x\d+)?$/, '').replace(/-\d+$/, '');

/** A page of what an execution's agents were told, said, called and got: entries, next
 * where to go on, and end where there is no more just now. */
export async function transcript(execution, query) {
  const v = await get('executions/{id}/transcript', { id: execution, ...query });
  const next = (v.next?.positions ?? []).map((p) => `${p.partition ?? 0}.${p.epoch}.${p.sequence}.${p.index ?? 0}`).join(',');
  const entries = v.entries ?? [];
  return { entries, next: next || query.after, end: v.end || !entries.length || !next || next === query.after };
}

/** The text of an answer that is bytes; null where they are no text.
 * @template {import('./routes.d.ts').Route<'get'>} R
 * @param {R} route
 * @param {import('./routes.d.ts').Asked<R>} values */
export async function text(route, values) {
  const reply = await fetched(address(route, values));
  if (!reply.ok) throw new Refusal(reply.status, await reply.json().catch(() => ({})));
  return reply.headers.get('Content-Type')?.startsWith('text/') ? reply.text() : null;
}

/** The text of a blob. */
export const blob = async (sha, project) => (await text('blobs/{id}', { id: sha, project })) ?? '(it is no text)';
