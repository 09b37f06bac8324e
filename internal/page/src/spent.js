// What each attempt, answer and call of an execution took: of money, tokens and time.

/** A tree of what was spent: steps, in them attempts, in them answers of models and calls
 * of tools. Each has a name, ms, usd (in millionths), tokens, and of. */
export function spent(nodes, attemptsOf, entries) {
  const of = new Map();
  for (const e of entries) of.set(e.attempt, [...(of.get(e.attempt) ?? []), e]);
  const root = { name: 'all', of: nodes.map((n) => sum({ name: n.id, node: n.id, kind: 'step', of: attemptsOf(n.state).map((t) => attempt(n, t, of.get(t.id) ?? [])) })).filter((n) => n.of.length) };
  return sum(root);
}

function attempt(n, t, entries) {
  const one = { name: 'attempt ' + t.number, node: n.id, kind: 'attempt', of: [] };
  const began = Date.parse(t.dispatched_at), ended = Date.parse(t.ended_at ?? new Date().toISOString());
  const called = new Map();
  let last = began, first = true, turn = 0;
  for (const e of entries) {
    const at = Date.parse(e.time), kind = e.kind.replace('TRANSCRIPT_KIND_', '');
    if (first && kind === 'PROMPT') {
      if (at > began) one.of.push({ name: 'queued', node: n.id, kind: 'queue', ms: at - began, usd: 0, tokens: 0, of: [] });
      first = false;
    }
    if (e.usage) {
      one.of.push({ name: 'answer ' + ++turn, model: e.model ?? '', node: n.id, kind: 'answer', ms: Math.max(0, at - last), usd: Number(e.usage.cost_micro_usd ?? 0), tokens: Number(e.usage.input_tokens ?? 0) + Number(e.usage.output_tokens ?? 0), of: [] });
    }
    if (kind === 'CALL') called.set(e.call, at);
    if (kind === 'RESULT') one.of.push({ name: e.tool ?? 'tool', node: n.id, kind: 'tool', ms: Math.max(0, at - Math.max(last, called.get(e.call) ?? last)), usd: 0, tokens: 0, of: [] });
    last = Math.max(last, at);
  }
  sum(one);
  one.ms = Math.max(0, ended - began);
  return one;
}

function sum(one) {
  for (const what of ['ms', 'usd', 'tokens']) one[what] = one.of.reduce((n, o) => n + o[what], 0);
  return one;
}
