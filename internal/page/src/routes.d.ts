// What each route of the host takes and answers, of the description that a host gives of
// its interface (openapi.d.ts, made by "npm run types").
import type { paths } from './openapi.d.ts';

type Verb = 'get' | 'post';

/** The routes that answer a verb, without what they all begin with. */
export type Route<V extends Verb> = {
  [K in keyof paths]: paths[K] extends Record<V, object> ? (K extends `/api/v1/${infer R}` ? R : never) : never;
}[keyof paths];

type Operation<V extends Verb, R extends string> = `/api/v1/${R}` extends keyof paths ? paths[`/api/v1/${R}`][V & keyof paths[`/api/v1/${R}`]] : never;

/** The values in the path of a route, and those of its query; what is empty is not sent. */
export type Asked<R extends Route<'get'>> = (Operation<'get', R> extends { parameters: { path: infer P } } ? NonNullable<P> : unknown) &
  (Operation<'get', R> extends { parameters: { query?: infer Q } } ? { [N in keyof NonNullable<Q>]: NonNullable<Q>[N] | '' } : unknown);

/** The body that a route takes. */
export type Body<R extends Route<'post'>> = Operation<'post', R> extends { requestBody: { content: { 'application/json': infer B } } } ? B : never;

/** What a route answers. */
export type Reply<V extends Verb, R extends Route<V>> = Operation<V, R> extends { responses: { 200: { content: { 'application/json': infer A } } } } ? A : never;
