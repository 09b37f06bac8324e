// What an approval's digest covers, computed anew from the fields that are shown. It is
// the page's own account of workflow.Digest (internal/core/workflow/digest.go), made of
// the same contract: approval.json says which field has which number, and is written by a
// test from the protobuf messages.
import contract from './approval.json' with { type: 'json' };

const encoder = new TextEncoder();
const form = 'loom.v1.approval/2\n';
const without = new Set(contract.undigested);

/** Digest of an approval as the interface gives it in JSON, in lower-case hex. It throws
 * where there is a field that this page does not know: it could not be shown either. */
export async function digest(approval) {
  return sha256(concat([encoder.encode(form), fields(approval, 'Approval', without)]));
}

/** SHA-256 of a text or bytes, in lower-case hex. */
export async function sha256(data) {
  const bytes = typeof data === 'string' ? encoder.encode(data) : data;
  const sum = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return Array.from(sum, (b) => b.toString(16).padStart(2, '0')).join('');
}

/** The number of an enum's value. */
export function enumNumber(name, value) {
  const n = contract.enums[name]?.[value];
  if (n === undefined) throw new Error(`this page does not know ${name} ${value}`);
  return n;
}

function fields(message, name, skip) {
  const known = contract.messages[name];
  const set = Object.keys(message).filter((key) => !skip?.has(key));
  for (const key of set) {
    if (!known[key]) throw new Error(`this page does not know the field ${name}.${key}`);
  }
  set.sort((a, b) => known[a].n - known[b].n);
  const out = [];
  for (const key of set) {
    const f = known[key];
    if (f.key) {
      for (const entry of entries(message[key], f)) field(out, f.n, entry);
    } else if (f.list) {
      for (const one of message[key]) field(out, f.n, value(one, f.t));
    } else {
      field(out, f.n, value(message[key], f.t));
    }
  }
  return concat(out);
}

/** Entries of a map in the order of their encoded keys. */
function entries(map, f) {
  return Object.entries(map)
    .map(([k, v]) => ({ k: value(f.key === 'string' ? k : JSON.parse(k), f.key), v: value(v, f.t) }))
    .sort((a, b) => compare(a.k, b.k))
    .map(({ k, v }) => {
      const entry = [];
      field(entry, 1, k);
      field(entry, 2, v);
      return concat(entry);
    });
}

function value(v, type) {
  switch (type) {
    case 'string':
      return encoder.encode(v);
    case 'bytes':
      return Uint8Array.from(atob(v), (c) => c.charCodeAt(0));
    case 'bool':
      return number(v ? 1n : 0n);
    case 'int':
      return number(BigInt(v));
    case 'double':
      return double(Number(v));
    case 'Timestamp':
      return instant(...timestamp(v));
    case 'Duration':
      return instant(...duration(v));
    case 'Struct':
      return struct(v);
    case 'Value':
      return any(v);
  }
  if (contract.enums[type]) return number(BigInt(enumNumber(type, v)));
  if (contract.messages[type]) return fields(v, type);
  throw new Error(`this page does not know the type ${type}`);
}

/** Seconds and nanoseconds of a time in RFC 3339. */
export function timestamp(text) {
  const m = /^(.*?)(?:\.(\d{1,9}))?Z$/.exec(text);
  return [BigInt(Date.parse(m[1] + 'Z')) / 1000n, BigInt((m[2] ?? '').padEnd(9, '0'))];
}

function duration(text) {
  const m = /^(-?)(\d+)(?:\.(\d{1,9}))?s$/.exec(text);
  const sign = m[1] ? -1n : 1n;
  return [sign * BigInt(m[2]), sign * BigInt((m[3] ?? '').padEnd(9, '0'))];
}

function instant(seconds, nanos) {
  const out = [];
  if (seconds !== 0n) field(out, 1, number(seconds));
  if (nanos !== 0n) field(out, 2, number(nanos));
  return concat(out);
}

function struct(v) {
  const out = [];
  for (const entry of entries(v, { key: 'string', t: 'Value' })) field(out, 1, entry);
  return concat(out);
}

function any(v) {
  const out = [];
  if (v === null) field(out, 1, number(0n));
  else if (typeof v === 'number') field(out, 2, double(v));
  else if (typeof v === 'string') field(out, 3, encoder.encode(v));
  else if (typeof v === 'boolean') field(out, 4, number(v ? 1n : 0n));
  else if (Array.isArray(v)) {
    const list = [];
    for (const one of v) field(list, 1, any(one));
    field(out, 6, concat(list));
  } else field(out, 5, struct(v));
  return concat(out);
}

function field(out, n, bytes) {
  out.push(number(BigInt(n)), number(BigInt(bytes.length)), bytes);
}

function number(n) {
  const b = new Uint8Array(8);
  new DataView(b.buffer).setBigUint64(0, BigInt.asUintN(64, n));
  return b;
}

function double(n) {
  const b = new Uint8Array(8);
  new DataView(b.buffer).setFloat64(0, n);
  return b;
}

export function concat(parts) {
  const all = new Uint8Array(parts.reduce((n, p) => n + p.length, 0));
  let at = 0;
  for (const p of parts) {
    all.set(p, at);
    at += p.length;
  }
  return all;
}

function compare(a, b) {
  for (let i = 0; i < Math.min(a.length, b.length); i++) if (a[i] !== b[i]) return a[i] - b[i];
  return a.length - b.length;
}
