# SPDX-License-Identifier: Apache-2.0
"""In: requests that schemathesis makes up from schemas. Out: most of them with names of what is stored, and with manifests
that are changed in one place by what was made up, so that they come past the first check. Not here: requests that
violate a schema; they stay as they are.
"""
import os, pathlib, random, zlib
import requests, schemathesis, yaml

BASE, ADMIN = os.environ["OVERRULE_BASE"], os.environ["OVERRULE_ADMIN"]

def ask(path, fine=(200,)):
    headers = {"Authorization": f"Bearer {ADMIN}"} if ADMIN else {}
    answer = requests.get(BASE + path, headers=headers, timeout=30)
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
PATHS = {kind["name"]: kind["path"] for kind in ask("/_resources")["resources"]}
MESHED = [r for r in STORED if r.get("mesh") and r["kind"] in PATHS]
GLOBAL = [r for r in STORED if not r.get("mesh") and not r.get("namespace") and r["kind"] in PATHS]
DATAPLANES = [r for r in MESHED if r["kind"] == "Dataplane"]
LAYOUTS = [(d, sorted(set(identities(ask(
    f"/meshes/{d['mesh']}/dataplanes/{d['name']}/_layout", fine=(200, 404)))))) for d in DATAPLANES]
KRIS = sorted({kri for _, all in LAYOUTS for kri in all}) or ["kri_dp_default___web_"]
MANIFESTS = list(manifests())
TARGETS = [r["target"] for r in STORED]
TOKENS = [t["id"] for t in ask("/v1/tokens")["items"]]
assert MESHED and DATAPLANES and MANIFESTS and TARGETS

WORDS = {
    "target": TARGETS, "policy": TARGETS, "to": TARGETS, "from": TARGETS + ["nobody"],
    "kind": sorted({r["kind"].lower() for r in STORED}) + ["policies", "all"],
    "namespace": sorted({r["namespace"] for r in STORED if r.get("namespace")}) or ["default"],
    "mesh": sorted({r["mesh"] for r in MESHED}),
    "proxy": [r["target"] for r in DATAPLANES],
    "selector": ["app=web", "app", "!app", "app!=web", "app in (web, api)"],
    "as-of": ["1", "2", "0", "9999999", "2020-01-01T00:00:00Z", "2100-01-01T00:00:00Z"],
    "at-least": [0, 1, 2], "request": ["GET https://shop.example.com/cart", "POST http://a/"],
    "method": ["GET", "POST"], "path": ["/", "/cart"], "field": ["default", "limits"],
    "author": ["files", "local", "\u0000"],
    "If-Match": ["\"1\"", "\"2\"", "1"], "If-None-Match": ["*"],
}

GRANTS = ["read", "write", "admin", "read:mesh/default", "write:namespace/shop", "read:mesh/\u0000"]
# Names that are none, or that are hard to keep or to put into a path.
ODD = ["\u0000", "a/b", "", "../x", "a b", "%2F", "a" * 300, "A", "\u00e9", "\ud7ff", "-", "."]

def place(r):
    return r.get("mesh") or r.get("namespace")

def path_parameters(dice, operation, names):
    if "kri" in names or "dataplanes/{name}" in operation.path:
        owner, kris = dice.choice(LAYOUTS)
        return {"mesh": owner["mesh"], "name": owner["name"], "route": dice.choice(kris or KRIS),
                "kri": dice.choice(kris or KRIS) if "mesh" in names else dice.choice(KRIS)}
    if "collection" in names:
        r = dice.choice(MESHED if "mesh" in names or not GLOBAL else GLOBAL)
        return {"mesh": r.get("mesh", ""), "collection": PATHS[r["kind"]], "name": r["name"]}
    if names == {"mesh"}:
        return {"mesh": dice.choice(WORDS["mesh"])}
    if "kind" in names:
        r = dice.choice([r for r in STORED if ("place" in names) == bool(place(r))] or STORED)
        return {"kind": r["kind"].lower(), "place": place(r) or "x", "name": r["name"]}
    return {}

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
    out = dict(manifest)
    if isinstance(out.get("metadata"), dict):
        out["metadata"] = out["metadata"] | {dice.choice(["name", "namespace"]): dice.choice(ODD)}
    else:
        out[dice.choice(["name", "mesh"])] = dice.choice(ODD)
    return out

def fitting(dice, manifest, names):
    """Parameters of a path that name what the manifest is."""
    meta = manifest.get("metadata") if isinstance(manifest.get("metadata"), dict) else {}
    kind = str(manifest.get("kind") or manifest.get("type") or "x")
    name = str(manifest.get("name") or meta.get("name") or "x")
    mesh = str(manifest.get("mesh") or meta.get("namespace") or "default")
    all = {"kind": kind.lower(), "name": name, "place": mesh, "mesh": mesh,
           "collection": PATHS.get(kind, "meshtimeouts")}
    if names == {"mesh"}:
        all["mesh"] = name
    return {key: all[key] for key in names if key in all}

@schemathesis.hook
def filter_case(context, case):
    # The token that the run itself uses stays: without it every other request would be refused.
    return (case.path_parameters or {}).get("id") not in TOKENS

@schemathesis.hook
def map_case(context, case):
    meta = case.meta
    if meta is None or meta.phase.name != "fuzzing" or meta.generation.mode.is_negative:
        return case
    told = repr((case.method, case.path, case.path_parameters, case.query, case.body))
    dice = random.Random(zlib.crc32(told.encode("utf-8", "backslashreplace")))
    operation = case.operation
    names = set(case.path_parameters or {})
    if names and dice.random() < 0.7:
        known = path_parameters(dice, operation, names)
        case.path_parameters.update({k: v for k, v in known.items() if k in names and v})
    for parameter in operation.query:
        if parameter.name in WORDS and dice.random() < (0.7 if parameter.is_required else 0.15):
            case.query = dict(case.query or {}) | {parameter.name: dice.choice(WORDS[parameter.name])}
    for name in ("If-Match", "If-None-Match"):
        if name in (case.headers or {}) and dice.random() < 0.5:
            case.headers[name] = dice.choice(WORDS[name])
    takes = (operation.definition.raw.get("requestBody") or {}).get("content", {})
    if "application/yaml" in takes and dice.random() < 0.8:
        manifest = dice.choice(MANIFESTS)
        if dice.random() < 0.6:
            manifest = spoiled(dice, manifest, case.body)
        if isinstance(manifest, dict):
            if dice.random() < 0.1:
                manifest = renamed(dice, manifest)
            if dice.random() < 0.9:
                case.path_parameters = (case.path_parameters or {}) | fitting(dice, manifest, names)
            # It is written as JSON or YAML, whatever the request says it is.
            case.body = manifest
    name = operation.definition.raw.get("operationId")
    if name == "canMany" and isinstance(case.body, dict) and dice.random() < 0.8:
        case.body["from"], case.body["to"] = ([dice.choice(WORDS[word])] for word in ("from", "proxy"))
    if name == "makeToken" and isinstance(case.body, dict):
        case.body["grants"] = [dice.choice(GRANTS)]
        if dice.random() < 0.3:
            case.body["name"] = dice.choice(ODD) or "x"
        if dice.random() < 0.7:
            case.body.pop("expires", None)
    return case
