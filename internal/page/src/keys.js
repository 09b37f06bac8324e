// Whether this browser's key signs for the person.
import { get } from './api.js';
import { base64, ownKey } from './sign.js';

/** This browser's key, or null, and the name under which a project knows it, '' where it
 * does not. */
export async function ownName(project) {
  const key = await ownKey();
  if (!key) return { key: null, name: '' };
  const raw = base64(key.raw);
  const v = await get('keys', { project }).catch(() => ({}));
  return { key, name: (v.keys ?? []).find((k) => k.public_key === raw && !k.passkey && !k.revoked_at)?.name ?? '' };
}
