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

async function ask(path, options) {
  let reply;
  try {
    reply = await fetch('/api/v1/' + path, { credentials: 'same-origin', redirect: 'error', ...options });
  } catch {
    throw new Refusal(0, {});
  }
  const body = await reply.json().catch(() => ({}));
  if (!reply.ok) throw new Refusal(reply.status, body);
  return body;
}

export const get = (path, query = {}) => {
  const q = new URLSearchParams(Object.entries(query).filter(([, v]) => v !== '' && v !== undefined));
  return ask(path + (q.size ? '?' + q : ''));
};

export const post = (path, body) =>
  ask(path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });

/** The project of a bead, an approval or an execution. */
export const projectOf = (id) => id.replace(/(-x\d+)?$/, '').replace(/-\d+$/, '');
