// Types that openapi-typescript generates are usable: this file compiles.
import type { components, paths } from "./inventory";

type Draft = components["schemas"]["DeviceDraft"];
type Body = paths["/devices"]["post"]["requestBody"]["content"]["application/json"];
type Created = paths["/devices"]["post"]["responses"][201]["content"]["application/json"];
type Query = NonNullable<paths["/devices"]["get"]["parameters"]["query"]>;

const draft: Draft = { hostname: "sw1", ip: "192.0.2.1", model: "M", vendor: "V", os: "O", status: "active", location_id: null };
const one: Body = draft;
const several: Body = [draft, draft];
const query: Query = { limit: 10, sortby: ["hostname:asc"], filter: { status: "active", hostname__contains: "sw", location_id__isnull: true } };

function names(created: Created): string[] {
  return "results" in created ? created.results.map((device) => device.hostname) : [created.hostname];
}

// @ts-expect-error: not a status
const status: Draft = { ...draft, status: "gone" };
// @ts-expect-error: not an operator of the field
const operator: Query = { filter: { location_id__contains: "x" } };

export default { one, several, query, names, status, operator };
