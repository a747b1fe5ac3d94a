# SPDX-License-Identifier: Apache-2.0
"""In: requests that schemathesis makes up from schemas. Out: most of them with names of what is stored, and with manifests
that are changed in one place by what was made up, so that they come past the first check. Not here: requests that
violate a schema; they stay as they are.
"""
import os, pathlib, random, zlib
import requests, schemathesis, yaml

BASE, ADMIN = os.environ["OVERRULE_BASE"], os.environ["OVERRULE_ADMIN"]


def send(method, path, json=None):
    headers = {"Authorization": f"Bearer {ADMIN}"} if ADMIN else {}
    return requests.request(method, BASE + path, headers=headers, json=json, timeout=30)


def ask(path, fine=(200,)):
    answer = send("GET", path)
    assert answer.status_code in fine, f"{path}: {answer.status_code} {answer.text}"
    return answer.json()


def identities(value):
    if isinstance(value, dict):
        for inner in value.values():
            yield from identities(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from identities(inner)
    elif isinstance(value, str) and value.startswith("kri_"):
        yield value


def manifests():
    for folder in os.environ["OVERRULE_EXAMPLES"].split(":"):
        for file in sorted(pathlib.Path(folder).rglob("*.yaml")):
            try:
                yield from (d for d in yaml.safe_load_all(file.read_text()) if isinstance(d, dict))
            except yaml.YAMLError:
                pass


STORED = ask("/v1/resources?size=10000")["items"]
KINDS = {kind["name"]: kind for kind in ask("/_resources")["resources"]}
PATHS = {name: kind["path"] for name, kind in KINDS.items()}
POLICIES = {name for name, kind in KINDS.items() if (kind.get("policy") or {}).get("isTargetRef")}
SERVICES = {"MeshService", "MeshExternalService", "MeshMultiZoneService"}
MESHED = [r for r in STORED if r.get("mesh") and r["kind"] in PATHS]
DATAPLANES = [r for r in MESHED if r["kind"] == "Dataplane"]
LAYOUTS = [(d, sorted(set(identities(ask(
    f"/meshes/{d['mesh']}/dataplanes/{d['name']}/_layout", fine=(200, 404)))))) for d in DATAPLANES]
KRIS = sorted({kri for _, all in LAYOUTS for kri in all})
TARGETS = [r["target"] for r in STORED]
TOKENS = [t["id"] for t in ask("/v1/tokens")["items"]]



def spare():
    """The id of a token that may be rotated or revoked."""
    return send("POST", "/v1/tokens", {"name": "spare", "grants": ["read"]}).json()["item"]["id"]


def answered(part):
    """A dataplane and an identity that a part of the Inspect API has an answer for."""
    for owner, kris in LAYOUTS:
        for kri in kris:
            path = f"/meshes/{owner['mesh']}/dataplanes/{owner['name']}/{part.replace('{kri}', kri)}"
            if send("GET", path).status_code == 200:
                routes = sorted(set(identities(ask(path)))) if part.endswith("_routes") else [kri]
                if routes:
                    return {"mesh": owner["mesh"], "name": owner["name"], "kri": kri, "route": routes[0]}
    raise AssertionError(f"nothing is answered for {part}")


# Parameters of paths that surely have an answer, by what the path has in it.
SURE = {part: answered(part) for part in (
    "_inbounds/{kri}/_policies", "_outbounds/{kri}/_policies", "_outbounds/{kri}/_routes")}

# Resources of no mesh that nothing else depends on: they can be deleted.
ALONE = [{"type": "Mesh", "name": "schemathesis"}, {"type": "Zone", "name": "schemathesis", "enabled": True}]
MANIFESTS = ALONE + list(manifests())
assert KRIS and len(MANIFESTS) > 50 and any(r["kind"] in SERVICES for r in MESHED)

# Names that are none, or that are hard to keep or to put into a path.
ODD = ["\u0000", "a/b", "", "../x", "a b", "%2F", "a" * 300, "A", "\u00e9", "\ud7ff", "-", "."]
GRANTS = ["read", "write", "admin", "read:mesh/default", "write:namespace/shop", "read:mesh/\u0000"]
PROXIES = [d["target"] for d in DATAPLANES]
WORDS = {
    "target": TARGETS,
    "policy": [r["target"] for r in STORED if r["kind"] in POLICIES or r["kind"].endswith("Policy")],
    "to": PROXIES, "from": PROXIES + ["nobody"],
    "kind": sorted({r["kind"].lower() for r in STORED}) + ["policies", "all"],
    "namespace": sorted({r["namespace"] for r in STORED if r.get("namespace")}) + ["\u0000"],
    "mesh": sorted({r["mesh"] for r in MESHED}),
    "selector": ["app=web", "app", "!app", "app!=web", "app in (web, api)"],
    "as-of": ["1", "2", "0", "9999999", "2020-01-01T00:00:00Z", "2100-01-01T00:00:00Z"],
    "size": [1, 10, 1000], "offset": [0, 1],
    "at-least": [0, 1, 2], "request": ["GET https://shop.example.com/cart", "POST http://a/"],
    "method": ["GET", "POST"], "path": ["/", "/cart"], "field": ["default", "limits"],
    "author": ["files", "local", "\u0000"],
    "If-Match": ["\"1\"", "\"2\"", "1"], "If-None-Match": ["*"],
}
# Only proxies have configurations.
WORDS_OF = {"envoy": {"target": PROXIES}, "explain": {"target": PROXIES + TARGETS}}


def place(r):
    return r.get("mesh") or r.get("namespace")


def collected(path):
    """Stored resources that a path of Kuma's API with a collection is for."""
    if path.endswith(("/_dataplanes", "/_hostnames")):
        return [r for r in MESHED if r["kind"] in SERVICES]
    if path.endswith("/_resources/dataplanes"):
        return [r for r in MESHED if r["kind"] in POLICIES]
    if path.endswith("/_rules"):
        return DATAPLANES
    return MESHED


def path_parameters(dice, path, names):
    if "kri" in names or "dataplanes/{name}" in path:
        owner, kris = dice.choice(LAYOUTS)
        return {"mesh": owner["mesh"], "name": owner["name"], "route": dice.choice(kris or KRIS),
                "kri": dice.choice(kris or KRIS) if "mesh" in names else dice.choice(KRIS)}
    if "collection" in names and "mesh" in names:
        r = dice.choice(collected(path))
        return {"mesh": r["mesh"], "collection": PATHS[r["kind"]], "name": r["name"]}
    if "collection" in names:
        return {"collection": dice.choice(["zones", "zones", "meshes"]), "name": "schemathesis"}
    if names == {"mesh"}:
        return {"mesh": dice.choice(WORDS["mesh"] + ["schemathesis"] * len(WORDS["mesh"]))}
    if "kind" in names:
        r = dice.choice([r for r in STORED if ("place" in names) == bool(place(r))])
        return {"kind": r["kind"].lower(), "place": place(r) or "x", "name": r["name"]}
    return {}


def meta(manifest):
    return manifest.get("metadata") if isinstance(manifest.get("metadata"), dict) else {}


def suits(manifest, path, names):
    """Whether a path is for manifests of this sort."""
    kind, inside = manifest.get("type"), manifest.get("mesh") or meta(manifest).get("namespace")
    if names == {"mesh"}:
        return kind == "Mesh"
    if "collection" in names:
        return kind in PATHS and kind != "Mesh" and ("mesh" in names) == bool(manifest.get("mesh"))
    return not names or ("place" in names) == bool(inside)


def spoiled(dice, value, made_up):
    """The same with one place deleted or replaced."""
    if isinstance(value, dict) and value and dice.random() < 0.9:
        key = dice.choice(sorted(value, key=str))
        out = dict(value)
        if dice.random() < 0.1:
            del out[key]
        else:
            out[key] = spoiled(dice, value[key], made_up)
        return out
    if isinstance(value, list) and value and dice.random() < 0.9:
        at = dice.randrange(len(value))
        return value[:at] + [spoiled(dice, value[at], made_up)] + value[at + 1:]
    odd = [made_up, [made_up], None, -1, 1e308, "", "\u0000", "a" * 300, [], {}, True, "*", "%2F", "../x"]
    return dice.choice(odd)


def renamed(dice, manifest):
    """The same under an odd name or in an odd place."""
    if meta(manifest):
        return manifest | {"metadata": meta(manifest) | {dice.choice(["name", "namespace"]): dice.choice(ODD)}}
    return manifest | {dice.choice(["name", "mesh"]): dice.choice(ODD)}


def fitting(manifest, names):
    """Parameters of a path that name what the manifest is."""
    kind = str(manifest.get("kind") or manifest.get("type") or "x")
    name = str(manifest.get("name") or meta(manifest).get("name") or "x")
    mesh = str(manifest.get("mesh") or meta(manifest).get("namespace") or "default")
    all = {"kind": kind.lower(), "name": name, "place": mesh, "mesh": mesh,
           "collection": PATHS.get(kind, "meshtimeouts")}
    if names == {"mesh"}:
        all["mesh"] = name
    return {key: all[key] for key in names if key in all}


def body(dice, case, path, names):
    manifest = dice.choice([m for m in ALONE * 4 + MANIFESTS if suits(m, path, names)])
    if dice.random() < 0.5:
        manifest = spoiled(dice, manifest, case.body)
    if not isinstance(manifest, dict):
        return
    if dice.random() < 0.1:
        manifest = renamed(dice, manifest)
    if dice.random() < 0.9:
        case.path_parameters = (case.path_parameters or {}) | fitting(manifest, names)
    # It is written as JSON or YAML, whatever the request says it is.
    case.body = manifest


@schemathesis.hook
def filter_case(context, case):
    # The token that the run itself uses stays: without it every other request would be refused.
    return (case.path_parameters or {}).get("id") not in TOKENS


@schemathesis.hook
def map_case(context, case):
    of = case.meta
    if of is None or of.phase.name != "fuzzing" or of.generation.mode.is_negative:
        return case
    told = repr((case.method, case.path, case.path_parameters, case.query, case.body))
    dice = random.Random(zlib.crc32(told.encode("utf-8", "backslashreplace")))
    operation, names = case.operation, set(case.path_parameters or {})
    name = operation.definition.raw.get("operationId")
    words = WORDS | WORDS_OF.get(name, {})
    if names and dice.random() < 0.85:
        known = path_parameters(dice, operation.path, names)
        case.path_parameters.update({k: v for k, v in known.items() if k in names and v})
    # One that is made up is often refused, and several together nearly always.
    plain = dice.random() < 0.5
    query = {} if plain else dict(case.query or {})
    for parameter in operation.query:
        often = 1.0 if plain and parameter.is_required else 0.7 if parameter.is_required else 0.15
        if parameter.name in words and dice.random() < often:
            query[parameter.name] = dice.choice(words[parameter.name])
    case.query = query
    for header in ("If-Match", "If-None-Match"):
        if header in (case.headers or {}):
            if plain:
                del case.headers[header]
            elif dice.random() < 0.5:
                case.headers[header] = dice.choice(words[header])
    takes = (operation.definition.raw.get("requestBody") or {}).get("content", {})
    if "application/yaml" in takes and dice.random() < 0.8:
        body(dice, case, operation.path, names)
    if name == "canMany" and isinstance(case.body, dict) and dice.random() < 0.8:
        case.body["from"], case.body["to"] = [dice.choice(words["from"])], [dice.choice(words["to"])]
    if name == "makeToken" and isinstance(case.body, dict):
        case.body["grants"] = [dice.choice(GRANTS)]
        if dice.random() < 0.3:
            case.body["name"] = dice.choice(ODD) or "x"
        if dice.random() < 0.7:
            case.body.pop("expires", None)
    return case


def certain(operation, name, names):
    """Parameters of the path of a request that is answered as asked."""
    if "id" in names:
        return {"id": spare()}
    if "_routes/{route}" in operation.path:
        return SURE["_outbounds/{kri}/_routes"]
    for part, sure in SURE.items():
        if operation.path.endswith(part):
            return sure
    if operation.method == "delete" and (names == {"mesh"} or names == {"collection", "name"}):
        mesh, zone = ALONE
        send("PUT", "/meshes/schemathesis", mesh)
        send("PUT", "/zones/schemathesis", zone)
        return {"mesh": "schemathesis", "collection": "zones", "name": "schemathesis"}
    return path_parameters(random.Random(1), operation.path, names)


@schemathesis.hook
def before_add_examples(context, examples):
    """One request per operation that is answered as asked, so that none is only ever refused."""
    operation = context.operation
    name = operation.definition.raw.get("operationId")
    names = {parameter.name for parameter in operation.path_parameters}
    words = WORDS | WORDS_OF.get(name, {})
    query = {p.name: words[p.name][0] for p in operation.query if p.is_required}
    parts = {key: value for key, value in certain(operation, name, names).items() if key in names}
    sent = {"query": query}
    if "requestBody" in operation.definition.raw:
        manifest = next(m for m in MANIFESTS if suits(m, operation.path, names))
        sent["body"] = {
            "canMany": {"from": [words["from"][0]], "to": [words["to"][0]]},
            "makeToken": {"name": "example", "grants": ["read"]},
        }.get(name, manifest)
        sent["media_type"] = "application/json"
        if name not in ("canMany", "makeToken"):
            parts = fitting(manifest, names)
    examples.append(operation.Case(path_parameters=parts, **sent))
