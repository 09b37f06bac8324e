// Which keys sign for the person here: this browser's own, and passkeys of this page.
import { get } from './api.js';
import { base64, ownKey, passkeys } from './sign.js';

/** This browser's key, or null, and those that sign in a project, each with its name: the
 * browser's own first, then passkeys, which may be on this device or on another. */
export async function signers(project) {
  const key = await ownKey();
  const raw = key && base64(key.raw);
  const v = await get('keys', { project }).catch(() => null);
  const hold = (v?.keys ?? []).filter((k) => !k.revoked_at);
  const own = hold.filter((k) => key && k.public_key === raw && !k.passkey).map((k) => ({ ...key, name: k.name }));
  const here = hold.filter((k) => passkeys && k.passkey?.origin === location.origin);
  return { key, all: [...own, ...here.map((k) => ({ name: k.name, credential: k.passkey.credential, party: k.passkey.relying_party }))] };
}
