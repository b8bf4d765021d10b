//! Validation, defaulting and pruning of custom resources.

use serde_json::{Value, json};

use super::{CRDS, WIDGETS, establish, object, spec_schema, widget, widget_crd};
use crate::case::{Area, Steps};

fn with_properties(c: &mut Steps, properties: Value) {
    establish(c, widget_crd(spec_schema(json!({"type": "object", "properties": properties}))));
}

fn try_specs(c: &mut Steps, specs: &[Value]) {
    for (at, spec) in specs.iter().enumerate() {
        c.post(WIDGETS, widget(&format!("w{at}"), spec.clone())).any_error_order();
    }
}

pub(super) fn cases(area: &mut Area) {
    area.case("wrong types", |c| {
        with_properties(c, json!({"s": {"type": "string"}, "i": {"type": "integer"}, "n": {"type": "number"},
            "b": {"type": "boolean"}, "a": {"type": "array", "items": {"type": "string"}}, "o": {"type": "object", "properties": {}}}));
        try_specs(c, &[json!({"s": 1}), json!({"i": "x"}), json!({"i": 1.5}), json!({"i": 1.0}), json!({"n": "x"}), json!({"b": "true"}),
            json!({"a": {}}), json!({"a": [1]}), json!({"o": []}), json!({"s": null}), json!("text")]);
    });
    area.case("numbers", |c| {
        with_properties(c, json!({"min": {"type": "integer", "minimum": 3}, "max": {"type": "integer", "maximum": 5},
            "emin": {"type": "integer", "minimum": 3, "exclusiveMinimum": true}, "emax": {"type": "number", "maximum": 5, "exclusiveMaximum": true},
            "mult": {"type": "integer", "multipleOf": 5}, "i32": {"type": "integer", "format": "int32"}, "f": {"type": "number", "minimum": 0.5}}));
        try_specs(c, &[json!({"min": 2}), json!({"max": 6}), json!({"emin": 3}), json!({"emax": 5}), json!({"mult": 7}),
            json!({"i32": 3_000_000_000_u64}), json!({"f": 0.25}), json!({"min": 3, "max": 5, "emin": 4, "mult": 10})]);
    });
    area.case("strings", |c| {
        with_properties(c, json!({"len": {"type": "string", "minLength": 2, "maxLength": 3}, "pat": {"type": "string", "pattern": "^v\\d+$"},
            "enum": {"type": "string", "enum": ["a", "b"]}, "date": {"type": "string", "format": "date-time"}, "ip": {"type": "string", "format": "ipv4"},
            "cidr": {"type": "string", "format": "cidr"}, "uri": {"type": "string", "format": "uri"}, "bytes": {"type": "string", "format": "byte"},
            "dur": {"type": "string", "format": "duration"}, "odd": {"type": "string", "format": "mystery"}, "mail": {"type": "string", "format": "email"},
            "uuid": {"type": "string", "format": "uuid"}, "host": {"type": "string", "format": "hostname"}, "day": {"type": "string", "format": "date"}}));
        try_specs(c, &[json!({"len": "x"}), json!({"len": "xxxx"}), json!({"len": "äöü"}), json!({"pat": "1"}), json!({"enum": "c"}),
            json!({"date": "yesterday"}), json!({"ip": "1.2.3"}), json!({"cidr": "1.2.3.4"}), json!({"uri": "::"}), json!({"bytes": "!"}),
            json!({"dur": "1 fortnight"}), json!({"odd": "anything"}), json!({"mail": "x"}), json!({"uuid": "x"}), json!({"host": "-x"}), json!({"day": "x"}),
            json!({"dur": "1h30m", "cidr": "10.0.0.0/8", "date": "2020-01-01T00:00:00Z", "ip": "1.2.3.4"})]);
    });
    area.case("objects and arrays", |c| {
        with_properties(c, json!({"req": {"type": "object", "required": ["a", "b"], "properties": {"a": {"type": "string"}, "b": {"type": "string"}}},
            "arr": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "integer"}},
            "props": {"type": "object", "minProperties": 1, "maxProperties": 2, "additionalProperties": {"type": "integer"}},
            "set": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            "map": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}}}}}));
        try_specs(c, &[json!({"req": {}}), json!({"req": {"a": "x"}}), json!({"arr": []}), json!({"arr": [1, 2, 3]}), json!({"props": {}}),
            json!({"props": {"a": 1, "b": 2, "c": 3}}), json!({"props": {"a": "x"}}), json!({"set": ["a", "a"]}),
            json!({"map": [{"k": "a"}, {"k": "a"}]}), json!({"map": [{}]})]);
    });
    area.case("several mistakes at once", |c| {
        with_properties(c, json!({"a": {"type": "integer", "minimum": 3}, "b": {"type": "string", "enum": ["x"]}, "c": {"type": "string"}}));
        try_specs(c, &[json!({"a": 1, "b": "y", "c": 3})]);
    });
    area.case("combinations", |c| {
        establish(c, widget_crd(spec_schema(json!({"type": "object",
            "properties": {"a": {"type": "string"}, "b": {"type": "string"}, "n": {"type": "integer"}},
            "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
            "not": {"required": ["a"], "properties": {"a": {"enum": ["bad"]}}},
            "allOf": [{"properties": {"n": {"minimum": 2}}}, {"properties": {"n": {"maximum": 9}}}]}))));
        try_specs(c, &[json!({}), json!({"a": "x", "b": "y"}), json!({"a": "bad"}), json!({"a": "x", "n": 1}), json!({"a": "x", "n": 5})]);
    });
    area.case("anyOf", |c| {
        establish(c, widget_crd(spec_schema(json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
            "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}))));
        try_specs(c, &[json!({}), json!({"b": "y"})]);
    });
    area.case("defaults", |c| {
        with_properties(c, json!({"n": {"type": "integer", "default": 3}, "s": {"type": "string", "default": "x"}, "z": {"type": "string", "nullable": true, "default": "y"},
            "o": {"type": "object", "default": {}, "properties": {"deep": {"type": "boolean", "default": true}}},
            "list": {"type": "array", "items": {"type": "object", "properties": {"size": {"type": "integer", "default": 1}}}},
            "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"on": {"type": "boolean", "default": false}}}}}));
        try_specs(c, &[json!({}), json!({"n": 5, "list": [{}, {"size": 2}], "map": {"a": {}}}), json!({"s": null, "z": null, "o": null})]);
        c.post(WIDGETS, object("{ns}.example.com/v1", "Widget", "no-spec"));
    });
    area.case("defaults on read", |c| {
        with_properties(c, json!({"a": {"type": "string"}}));
        c.post(WIDGETS, widget("w", json!({"a": "x"}))).quiet();
        c.json_patch(super::WIDGET_CRD, json!([{"op": "add", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/n",
            "value": {"type": "integer", "default": 3}}])).quiet();
        c.get(WIDGETS).until_contains("\"n\":3").only(&["/items/0/spec", "/items/0/metadata/generation"]);
    });
    area.case("unknown fields are pruned", |c| {
        with_properties(c, json!({"a": {"type": "string"}, "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
            "properties": {"typed": {"type": "object", "properties": {"k": {"type": "string"}}}}}}));
        let mut body = widget("w", json!({"a": "x", "zzz": 1, "free": {"any": {"thing": [1]}, "typed": {"k": "v", "gone": 1}}}));
        body["extra"] = json!(true);
        c.post(WIDGETS, body);
    });
    area.case("embedded resources", |c| {
        with_properties(c, json!({"tpl": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true},
            "strict": {"type": "object", "x-kubernetes-embedded-resource": true, "properties": {"spec": {"type": "object"}}}}));
        try_specs(c, &[json!({"tpl": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "bad": 1}, "spec": {"x": 1}}}),
            json!({"tpl": {"metadata": {"name": "x"}}}), json!({"tpl": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "Bad Name"}}}),
            json!({"strict": {"apiVersion": "v1", "kind": "Pod", "spec": {"gone": 1}, "gone": 2}}),
            json!({"tpl": {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a": 1}}}})]);
    });
    area.case("int or string", |c| {
        with_properties(c, json!({"p": {"x-kubernetes-int-or-string": true}, "q": {"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}], "pattern": "^\\d+%$"}}));
        try_specs(c, &[json!({"p": 1, "q": "5%"}), json!({"p": "a"}), json!({"p": true}), json!({"p": 1.5}), json!({"q": "x"})]);
    });
    area.case("nullable", |c| {
        with_properties(c, json!({"yes": {"type": "string", "nullable": true}, "no": {"type": "string"}, "obj": {"type": "object", "nullable": true, "properties": {"x": {"type": "string", "nullable": true}}}}));
        try_specs(c, &[json!({"yes": null}), json!({"no": null}), json!({"obj": null}), json!({"obj": {"x": null}})]);
    });
    area.case("names and labels are checked like everywhere", |c| {
        with_properties(c, json!({}));
        c.post(WIDGETS, widget("Bad_Name", json!({})));
        c.post(WIDGETS, json!({"apiVersion": "{ns}.example.com/v1", "kind": "Widget", "metadata": {"name": "a", "labels": {"a": "b c"}}}));
        c.post(WIDGETS, json!({"apiVersion": "{ns}.example.com/v1", "kind": "Widget", "metadata": {"name": "a", "labels": {"a": 1}}}));
        c.post(WIDGETS, json!({"apiVersion": "{ns}.example.com/v1", "kind": "Widget", "metadata": {"name": "a", "annotations": {"A B": "x"}}}));
    });
    area.case("metadata can be restricted", |c| {
        establish(c, widget_crd(json!({"type": "object", "properties": {"metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 3, "pattern": "^a"}}}}})));
        c.post(WIDGETS, widget("abcdef", json!({})));
        c.post(WIDGETS, widget("b", json!({})));
        c.post(WIDGETS, widget("ab", json!({}))).head_only();
    });
    area.case("updates ratchet", |c| {
        with_properties(c, json!({"a": {"type": "string"}, "b": {"type": "string"}}));
        c.post(WIDGETS, widget("w", json!({"a": "long value", "b": "x"}))).quiet();
        c.json_patch(super::WIDGET_CRD, json!([{"op": "add", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/a/maxLength", "value": 3}])).quiet();
        c.post(&format!("{WIDGETS}?dryRun=All"), widget("x", json!({"a": "long value"}))).until(422);
        c.merge(&format!("{WIDGETS}/w"), json!({"spec": {"b": "y"}})).only(&["/spec", "/message"]);
        c.merge(&format!("{WIDGETS}/w"), json!({"spec": {"a": "other long value"}})).only(&["/spec", "/message"]);
    });
    area.case("wrong kind and version in the body", |c| {
        with_properties(c, json!({}));
        c.post(WIDGETS, object("{ns}.example.com/v1", "Gadget", "a"));
        c.post(WIDGETS, object("{ns}.example.com/v2", "Widget", "a"));
        c.post(WIDGETS, object("v1", "Widget", "a"));
        c.post(WIDGETS, json!({"metadata": {"name": "a"}}));
    });
    area.case("preserved at the root", |c| {
        c.post(CRDS, widget_crd(json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}))).quiet();
        c.get(WIDGETS).until(200).quiet();
        let mut body = widget("w", json!({"b": [1, null, {"x": 1.5}], "big": 9_007_199_254_740_993_u64, "neg": -1, "f": 1e3}));
        body["anything"] = json!({"goes": [true]});
        c.post(WIDGETS, body);
    });
}
