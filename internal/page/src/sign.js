// The browser's own key, and commands that it signs. The key is made here and cannot be
// read out, by this page either: the browser keeps it, and signs with it.
import { concat, enumNumber, timestamp } from './digest.js';

const encoder = new TextEncoder();
const prefix = encoder.encode('loom.v1.ceo\n');
const validFor = 5 * 60; // seconds, as the terminal's

/** The key of this browser for this host, or null. */
export async function ownKey() {
  return (await store('readonly', (s) => s.get('ceo'))) ?? null;
}

/** Makes the key of this browser, unless there is one. */
export async function makeKey() {
  const have = await ownKey();
  if (have) return have;
  const pair = await crypto.subtle.generateKey({ name: 'Ed25519' }, false, ['sign', 'verify']);
  const raw = new Uint8Array(await crypto.subtle.exportKey('raw', pair.publicKey));
  const key = { private: pair.privateKey, raw, public: nkey(raw) };
  await store('readwrite', (s) => s.put(key, 'ceo'));
  return key;
}

/** A signed answer to an approval, as the interface takes it. */
export const signAnswer = (key, deployment, project, answer) =>
  sign(key, deployment, project, 6, [
    text(1, answer.approval), text(2, answer.digest), varint(3, enumNumber('ApprovalDecision', answer.decision)),
    text(4, answer.comment), text(5, answer.choice),
  ]);

/** A signed order about an execution: 'close', 'pause' or 'resume', with its reason. */
export function signOrder(key, deployment, project, order, execution, reason) {
  const scope = 1; // PAUSE_SCOPE_EXECUTION
  return order === 'close'
    ? sign(key, deployment, project, 8, [text(1, execution), text(2, reason)])
    : sign(key, deployment, project, order === 'pause' ? 9 : 10, [varint(1, scope), text(2, execution), text(3, reason)]);
}

// Signs a CeoCommand whose verb has this number and these fields.
async function sign(key, deployment, project, verb, fields) {
  const now = new Date();
  const nonce = Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, '0')).join('');
  const payload = concat([
    text(1, deployment), text(2, project), text(3, nonce),
    message(4, time(now)), message(5, time(new Date(now.getTime() + validFor * 1000))),
    message(verb, concat(fields)),
  ]);
  const signed = concat([prefix, payload]);
  if (key.credential) return { payload: base64(payload), ...(await assertion(key, signed)) };
  const signature = new Uint8Array(await crypto.subtle.sign('Ed25519', key.private, signed));
  return { payload: base64(payload), public_key: key.public, signature: base64(signature) };
}

// The word of an authenticator that the person confirmed what is signed: its hash is the
// challenge.
async function assertion(passkey, signed) {
  const got = /** @type {any} */ (await navigator.credentials.get({
    publicKey: {
      challenge: await crypto.subtle.digest('SHA-256', signed), rpId: passkey.party, userVerification: 'required',
      allowCredentials: [{ type: 'public-key', id: bytesIn(passkey.credential) }],
    },
  }));
  const b = (buffer) => base64(new Uint8Array(buffer));
  return { signature: b(got.response.signature), assertion: { authenticator_data: b(got.response.authenticatorData), client_data_json: b(got.response.clientDataJSON) } };
}

/** Whether passkeys can be made for this page: it has a name, and no address. */
export const passkeys = typeof PublicKeyCredential !== 'undefined' && !/^[\d.]+$|:/.test(location.hostname);

/** Makes a passkey for this page, and returns what "loom key add --passkey" reads of it. */
export async function makePasskey() {
  const made = /** @type {any} */ (await navigator.credentials.create({
    publicKey: {
      rp: { id: location.hostname, name: 'Loom' },
      user: { id: crypto.getRandomValues(new Uint8Array(16)), name: 'loom', displayName: 'Loom at ' + location.host },
      challenge: crypto.getRandomValues(new Uint8Array(32)),
      pubKeyCredParams: [{ type: 'public-key', alg: -8 }, { type: 'public-key', alg: -7 }],
      authenticatorSelection: { userVerification: 'required' },
    },
  }));
  const b = (buffer) => base64(new Uint8Array(buffer));
  return { relying_party: location.hostname, origin: location.origin, credential: b(made.rawId), public_key: b(made.response.getPublicKey()) };
}

/** A signed order that has a passkey sign, too, under a name. */
export const signEnrolment = (key, deployment, project, name, passkey, reason) =>
  sign(key, deployment, project, 13, [
    message(1, concat([
      text(1, name), message(2, bytesIn(passkey.public_key)),
      message(3, concat([text(1, passkey.relying_party), text(2, passkey.origin), message(3, bytesIn(passkey.credential))])),
    ])),
    text(2, reason),
  ]);

const bytesIn = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));

export const base64 = (bytes) => btoa(String.fromCharCode(...bytes));

// Protobuf, as far as a command needs it: fields in order, none that is empty.
function varint(n, value) {
  return value ? concat([bytesOf(n << 3), bytesOf(value)]) : new Uint8Array();
}

function message(n, bytes) {
  return concat([bytesOf((n << 3) | 2), bytesOf(bytes.length), bytes]);
}

function text(n, s) {
  return s ? message(n, encoder.encode(s)) : new Uint8Array();
}

function time(date) {
  const [seconds, nanos] = timestamp(date.toISOString());
  return concat([varint(1, Number(seconds)), varint(2, Number(nanos))]);
}

function bytesOf(n) {
  const out = [];
  for (let v = BigInt(n); ; v >>= 7n) {
    if (v < 128n) return Uint8Array.from([...out, Number(v)]);
    out.push(Number(v & 127n) | 128);
  }
}

// An nkey of a user: a prefix, the key and its CRC-16, in base32.
function nkey(raw) {
  const body = concat([Uint8Array.from([20 << 3]), raw]);
  let crc = 0;
  for (const b of body) {
    crc ^= b << 8;
    for (let i = 0; i < 8; i++) crc = crc & 0x8000 ? ((crc << 1) ^ 0x1021) & 0xffff : (crc << 1) & 0xffff;
  }
  const all = concat([body, Uint8Array.from([crc & 255, crc >> 8])]);
  let out = '', held = 0, bits = 0;
  for (const b of all) {
    held = (held << 8) | b;
    for (bits += 8; bits >= 5; bits -= 5) out += 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'[(held >> (bits - 5)) & 31];
    held &= (1 << bits) - 1;
  }
  return bits ? out + 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'[(held << (5 - bits)) & 31] : out;
}

function store(mode, ask) {
  return new Promise((resolve, reject) => {
    const open = indexedDB.open('loom', 1);
    open.onupgradeneeded = () => open.result.createObjectStore('keys');
    open.onerror = () => reject(open.error);
    open.onsuccess = () => {
      const t = open.result.transaction('keys', mode);
      const request = ask(t.objectStore('keys'));
      t.oncomplete = () => resolve(request.result);
      t.onerror = () => reject(t.error);
    };
  });
}
