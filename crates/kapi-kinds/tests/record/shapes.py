#!/usr/bin/env python3
"""Reads the Go structs of the built-in kinds and writes src/behaviour/shapes.txt.

A struct's tags decide what an object reads back as: whether a zero is printed, dropped or kept. OpenAPI does not say,
so the facts are taken from the Go modules. Usage: shapes.py <folder of the k8s.io modules> <version, such as v0.34.4>
"""
import os
import re
import sys

root, version = sys.argv[1], sys.argv[2]
GROUPS = {
    "v1": "api@{v}/core/v1", "apps/v1": "api@{v}/apps/v1", "batch/v1": "api@{v}/batch/v1",
    "rbac.authorization.k8s.io/v1": "api@{v}/rbac/v1", "coordination.k8s.io/v1": "api@{v}/coordination/v1",
    "storage.k8s.io/v1": "api@{v}/storage/v1", "networking.k8s.io/v1": "api@{v}/networking/v1",
    "policy/v1": "api@{v}/policy/v1", "discovery.k8s.io/v1": "api@{v}/discovery/v1",
    "certificates.k8s.io/v1": "api@{v}/certificates/v1",
    "admissionregistration.k8s.io/v1": "api@{v}/admissionregistration/v1",
    "apiregistration.k8s.io/v1": "kube-aggregator@{v}/pkg/apis/apiregistration/v1",
    "scheduling.k8s.io/v1": "api@{v}/scheduling/v1", "autoscaling/v1": "api@{v}/autoscaling/v1",
    "autoscaling/v2": "api@{v}/autoscaling/v2", "node.k8s.io/v1": "api@{v}/node/v1",
    "events.k8s.io/v1": "api@{v}/events/v1", "authentication.k8s.io/v1": "api@{v}/authentication/v1",
    "authorization.k8s.io/v1": "api@{v}/authorization/v1", "flowcontrol.apiserver.k8s.io/v1": "api@{v}/flowcontrol/v1",
    "resource.k8s.io/v1": "api@{v}/resource/v1",
    "meta": "apimachinery@{v}/pkg/apis/meta/v1",
}
PACKAGES = {"v1": "v1", "metav1": "meta", "corev1": "v1", "apiv1": "v1", "rbac": "rbac.authorization.k8s.io/v1", "resourceapi": "resource.k8s.io/v1"}
SCALARS = {
    "string": "string", "bool": "bool", "int": "int", "int32": "int32", "int64": "int64", "uint8": "uint8",
    "float64": "float64", "[]byte": "bytes", "types.UID": "string", "types.NodeName": "string",
    "resource.Quantity": "quantity", "apiresource.Quantity": "quantity", "intstr.IntOrString": "intstr",
    "runtime.RawExtension": "raw", "runtime.Unknown": "raw", "meta:FieldsV1": "raw", "meta:Time": "time",
    "meta:MicroTime": "microtime", "meta:Duration": "duration",
}
structs, aliases = {}, {}

for group, folder in GROUPS.items():
    for name in ("types.go", "well_known_types.go"):
        path = os.path.join(root, folder.format(v=version), name)
        if not os.path.exists(path):
            continue
        text = re.sub(r"/\*.*?\*/", "", open(path).read(), flags=re.S)
        current = None
        for line in text.splitlines():
            line = re.sub(r"^\s*//.*", "", line).strip()
            if m := re.match(r"type (\w+) struct \{", line):
                current = structs.setdefault(f"{group}:{m[1]}", [])
                if line.endswith("}"):
                    current = None
            elif m := re.match(r"type (\w+) ([\w.\[\]*]+)$", line):
                aliases[f"{group}:{m[1]}"] = (group, m[2])
            elif line == "}":
                current = None
            elif current is not None and (m := re.match(r"(?:(\w+)\s+)?([\w.\[\]*]+)\s+`(.*)`", line)):
                tag = re.search(r'json:"([^"]*)"', m[3])
                if tag:
                    current.append((m[1], m[2], tag[1].split(",")))


def resolve(group, ty):
    if ty in SCALARS:
        return SCALARS[ty]
    if ty.startswith("*"):
        return "*" + resolve(group, ty[1:])
    if ty.startswith("[]"):
        return "[]" + resolve(group, ty[2:])
    if m := re.match(r"map\[[\w.]+\](.*)", ty):
        return "{}" + resolve(group, m[1])
    if "." in ty:
        package, name = ty.split(".")
        if package not in PACKAGES:
            sys.exit(f"unknown package in {ty} of {group}")
        key = f"{'v1' if package == 'v1' and group != 'v1' else PACKAGES[package]}:{name}"
        if package == "v1" and key not in structs and key not in aliases:
            key = f"meta:{name}"
    else:
        key = f"{group}:{ty}"
    if key in SCALARS:
        return SCALARS[key]
    if key in aliases:
        return resolve(*aliases[key])
    if key not in structs:
        sys.exit(f"unknown type {ty} ({key}) of {group}")
    needed.append(key)
    return key.replace(":", ".")


def fields(key):
    group = key.split(":")[0]
    for name, ty, tag in structs[key]:
        if tag[0] == "" and ("inline" in tag[1:] or name is None):
            target = resolve(group, ty)
            needed.remove(target_key := target[::-1].replace(".", ":", 1)[::-1])
            yield from fields(target_key)
        elif tag[0] == "-":
            continue
        else:
            flags = ("?" if "omitempty" in tag[1:] else "") + ("!" if "omitzero" in tag[1:] else "")
            yield tag[0], flags + resolve(group, ty)


needed = [key for key, fs in structs.items() if any(t.endswith("TypeMeta") for _, t, _ in fs) and not key.startswith("meta:")
          and not key.endswith("List")]
seen, out = set(), []
while needed:
    key = needed.pop()
    if key in seen:
        continue
    seen.add(key)
    out.append(key.replace(":", ".") + "".join(f"\n {n} {t}" for n, t in fields(key)))
here = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(here, "../../src/behaviour/shapes.txt"), "w") as f:
    f.write("\n".join(sorted(out)) + "\n")
