#!/usr/bin/env python3
"""Asks a real kube-apiserver what it answers to the cases beside this file, and writes the answers into them.

ORACLE_URL and ORACLE_TOKEN say where it is. Everything made on the way is removed again.

    record.py validate.json crd.json cel.json cost.json
"""
import json, os, ssl, sys, time, urllib.error, urllib.request

URL, TOKEN = os.environ["ORACLE_URL"], os.environ["ORACLE_TOKEN"]
CONTEXT = ssl._create_unverified_context()
GROUP = "recorder.example.com"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def call(method, path, body=None, kind="application/json"):
    request = urllib.request.Request(URL + path, method=method, data=json.dumps(body).encode() if body is not None else None)
    request.add_header("Authorization", "Bearer " + TOKEN)
    request.add_header("Content-Type", kind)
    try:
        with urllib.request.urlopen(request, context=CONTEXT) as answer:
            warnings = answer.headers.get_all("Warning") or []
            return answer.status, json.load(answer), warnings
    except urllib.error.HTTPError as error:
        text = error.read().decode()
        answer = json.loads(text) if text.startswith("{") else {"message": text}
        return error.code, answer, error.headers.get_all("Warning") or []


def crd(plural, schema, **spec):
    kind = plural.capitalize()
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    version.update(spec.pop("version", {}))
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.{GROUP}"},
            "spec": {"group": GROUP, "scope": "Cluster", "names": {"plural": plural, "kind": kind, "singular": plural},
                     "versions": [version], **spec}}


def causes(status):
    if "details" not in status:
        return [{"message": status.get("message", "")}]
    found = status["details"].get("causes")
    if not found:
        return [{"message": status.get("message", "")}]
    return sorted(({"reason": c.get("reason", ""), "field": c.get("field", ""), "message": c.get("message", "")} for c in found),
                  key=lambda c: (c["field"], c["message"]))


def remove(name):
    call("DELETE", f"{CRDS}/{name}")
    for _ in range(200):
        if call("GET", f"{CRDS}/{name}")[0] == 404:
            return
        time.sleep(0.05)


def establish(body):
    name = body["metadata"]["name"]
    remove(name)
    code, answer, _ = call("POST", CRDS, body)
    if code != 201:
        return answer
    plural = body["spec"]["names"]["plural"]
    for _ in range(400):
        if call("GET", f"/apis/{GROUP}/v1/{plural}")[0] == 200:
            return None
        time.sleep(0.05)
    raise SystemExit(f"{name} is not served")


def resource(plural, content, name):
    return {"apiVersion": f"{GROUP}/v1", "kind": plural.capitalize(), "metadata": {"name": name}, **content}


def record_validate(cases):
    """Each case: a schema, an object (without its head), perhaps the object it replaces under an open schema first."""
    for i, case in enumerate(cases):
        plural = f"v{i}x"
        path = f"/apis/{GROUP}/v1/{plural}"
        if "old" in case:
            loose = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
            if establish(crd(plural, loose)):
                raise SystemExit("the open schema was refused")
            code, made, _ = call("POST", path, resource(plural, case["old"], "x"))
            assert code == 201, made
            name = f"{plural}.{GROUP}"
            _, current, _ = call("GET", f"{CRDS}/{name}")
            current["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = case["schema"]
            code, answer, _ = call("PUT", f"{CRDS}/{name}", current)
            assert code == 200, answer
            time.sleep(1.5)
            body = resource(plural, case["object"], "x")
            body["metadata"]["resourceVersion"] = made["metadata"]["resourceVersion"]
            code, answer, _ = call("PUT", f"{path}/x", body)
        else:
            refused = establish(crd(plural, case["schema"]))
            if refused:
                raise SystemExit(f"{case['name']}: {refused['message']}")
            code, answer, _ = call("POST", path, resource(plural, case["object"], "x"))
        case["expect"] = [] if code < 300 else causes(answer)
        print(case["name"], code)
        remove(f"{plural}.{GROUP}")


def record_crd(cases):
    """Each case: a CRD, perhaps the one it replaces first."""
    for case in cases:
        name = case["crd"]["metadata"]["name"]
        remove(name)
        if "old" in case:
            code, made, _ = call("POST", CRDS, case["old"])
            assert code == 201, made
            time.sleep(1)
            _, made, _ = call("GET", f"{CRDS}/{name}")
            body = dict(case["crd"], status=made["status"])
            body["metadata"] = dict(body["metadata"], resourceVersion=made["metadata"]["resourceVersion"])
            code, answer, _ = call("PUT", f"{CRDS}/{name}", body)
            case["status"] = {k: made["status"][k] for k in ("conditions", "storedVersions", "acceptedNames")}
            for condition in case["status"]["conditions"]:
                condition.pop("lastTransitionTime", None)
        else:
            code, answer, _ = call("POST", CRDS, case["crd"])
        case["expect"] = [] if code < 300 else causes(answer)
        print(case["name"], code)
        remove(name)


def record_cel(table):
    """Expressions over one schema and object, many to a CRD."""
    expressions = [e["rule"] for e in table["cases"]]
    found = {}
    for start in range(0, len(expressions), 25):
        batch = expressions[start:start + 25]
        plural = f"cel{start}x"
        for _ in range(2):
            live = [e for e in batch if "compile" not in found.get(e, {})]
            properties = {f"p{i}": dict(table["schema"], **{"x-kubernetes-validations": [{"rule": e}]}) for i, e in enumerate(live)}
            schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}
            refused = establish(crd(plural, schema))
            if not refused:
                break
            for cause in refused["details"]["causes"]:
                field = cause["field"]
                if "properties[p" not in field:
                    print(cause)
                    continue
                index = int(field.split("properties[p")[1].split("]")[0])
                message = cause["message"]
                message = message.split("}: ", 1)[-1]
                found.setdefault(live[index], {})["compile"] = message
        else:
            raise SystemExit("still refused: " + refused["message"])
        live = [e for e in batch if "compile" not in found.get(e, {})]
        for i, e in enumerate(live):
            body = resource(plural, {"spec": {f"p{i}": table["object"]}}, "x")
            code, answer, _ = call("POST", f"/apis/{GROUP}/v1/{plural}?dryRun=All", body)
            found[e] = {"errors": [] if code < 300 else [c["message"] for c in causes(answer)]}
        print(f"{start + len(batch)} of {len(expressions)}")
        remove(f"{plural}.{GROUP}")
    for case in table["cases"]:
        for key in ("compile", "errors"):
            case.pop(key, None)
        case.update(found[case["rule"]])


def record_cost(tables):
    """What rules may cost: how long a list of the schema must be for a rule on its items to be a little too expensive,
    and what is said then. Costs are told to six digits when they are less than one and a half times the limit."""
    for table in tables:
        limits = {case["rule"]: 10_000_000 for case in table["cases"]}
        said = {}
        for _ in range(12):
            open_rules = [rule for rule in limits if rule not in said]
            for start in range(0, len(open_rules), 40):
                batch = open_rules[start:start + 40]
                properties = {f"p{i}": costly(table["schema"], rule, limits[rule]) for i, rule in enumerate(batch)}
                schema = {"type": "object", "properties": properties}
                _, answer, _ = call("POST", f"{CRDS}?dryRun=All", crd("costx", schema))
                messages = {}
                for cause in answer.get("details", {}).get("causes", []):
                    if "exceeds budget" in cause["message"] and "properties[p" in cause["field"]:
                        messages[int(cause["field"].split("properties[p")[1].split("]")[0])] = cause["message"]
                for i, rule in enumerate(batch):
                    factor = messages.get(i, "factor of 0x").split("factor of ")[1].split("x")[0]
                    if factor == "more than 100":
                        limits[rule], known = max(1, limits[rule] // 50), limits[rule] == 1
                    elif 1 < float(factor) < 1.5 or limits[rule] == 1 or float(factor) == 0:
                        known = True
                    else:
                        limits[rule] = max(1, int(limits[rule] * 1.2 / float(factor)))
                        known = False
                    if known:
                        said[rule] = messages.get(i, "")
        factor = lambda message: message.split("factor of ")[1].split(" (")[0] if message else ""
        table["cases"] = [{"rule": rule, "items": limits[rule], "factor": factor(said[rule])} for rule in limits]
        print(len(table["cases"]), "rules")


def costly(schema, rule, items):
    item = dict(schema, **{"x-kubernetes-validations": [{"rule": rule}]})
    return {"type": "array", "maxItems": items, "items": item}


for file in sys.argv[1:]:
    with open(file) as source:
        data = json.load(source)
    {"validate": record_validate, "crd": record_crd, "cel": record_cel, "cost": record_cost}[os.path.basename(file).split(".")[0]](data)
    with open(file, "w") as target:
        json.dump(data, target, indent=1, ensure_ascii=False)
        target.write("\n")
