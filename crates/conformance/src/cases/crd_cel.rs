//! Validation rules in CEL.

use serde_json::{Value, json};

use super::{CRDS, WIDGETS, establish, spec_schema, widget, widget_crd};
use crate::case::{Area, Steps};

fn with_rules(c: &mut Steps, properties: Value, rules: Value) {
    establish(c, widget_crd(spec_schema(json!({"type": "object", "properties": properties, "x-kubernetes-validations": rules}))));
}

pub(super) fn cases(area: &mut Area) {
    area.case("a rule with and without message", |c| {
        with_rules(c, json!({"min": {"type": "integer"}, "max": {"type": "integer"}}),
            json!([{"rule": "self.min <= self.max", "message": "min must not exceed max"}, {"rule": "self.max < 100"}]));
        c.post(WIDGETS, widget("a", json!({"min": 5, "max": 1})));
        c.post(WIDGETS, widget("a", json!({"min": 5, "max": 500})));
        c.post(WIDGETS, widget("a", json!({"min": 1, "max": 5}))).head_only();
        c.merge(&format!("{WIDGETS}/a"), json!({"spec": {"min": 9}}));
    });
    area.case("message expressions", |c| {
        with_rules(c, json!({"n": {"type": "integer"}, "s": {"type": "string", "maxLength": 10}}),
            json!([{"rule": "self.n < 5", "messageExpression": "'n of ' + self.s + ' is too large'", "message": "fallback"},
                {"rule": "self.s != 'x'", "messageExpression": "self.s == 'x' ? '' : 'y'", "message": "used when empty"}]));
        c.post(WIDGETS, widget("a", json!({"n": 7, "s": "a"})));
        c.post(WIDGETS, widget("a", json!({"n": 1, "s": "x"})));
    });
    area.case("reason and field path", |c| {
        with_rules(c, json!({"a": {"type": "string"}, "b": {"type": "object", "properties": {"c": {"type": "string"}}}}),
            json!([{"rule": "self.a == 'ok'", "reason": "FieldValueForbidden", "fieldPath": ".a"},
                {"rule": "has(self.b) && has(self.b.c)", "reason": "FieldValueRequired", "fieldPath": ".b.c", "message": "c is needed"},
                {"rule": "self.a != 'dup'", "reason": "FieldValueDuplicate", "fieldPath": ".a"}]));
        c.post(WIDGETS, widget("a", json!({"a": "no", "b": {}}))).any_error_order();
        c.post(WIDGETS, widget("a", json!({"a": "dup", "b": {"c": "x"}}))).any_error_order();
    });
    area.case("transition rules", |c| {
        with_rules(c, json!({"name": {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "name is immutable"}]},
            "size": {"type": "integer"}}), json!([{"rule": "!has(oldSelf.size) || self.size >= oldSelf.size", "message": "size cannot shrink"}]));
        c.post(WIDGETS, widget("a", json!({"name": "x", "size": 3}))).head_only();
        c.merge(&format!("{WIDGETS}/a"), json!({"spec": {"name": "y"}}));
        c.merge(&format!("{WIDGETS}/a"), json!({"spec": {"size": 1}}));
        c.merge(&format!("{WIDGETS}/a"), json!({"spec": {"size": 4}})).only(&["/spec"]);
        c.merge(&format!("{WIDGETS}/a"), json!({"spec": {"name": null}})).only(&["/spec", "/message"]);
    });
    area.case("optional old self", |c| {
        with_rules(c, json!({"v": {"type": "string", "x-kubernetes-validations": [
            {"rule": "oldSelf.hasValue() || self == 'first'", "optionalOldSelf": true, "message": "must start as first"}]}}), json!([]));
        c.post(WIDGETS, widget("a", json!({"v": "other"})));
        c.post(WIDGETS, widget("a", json!({"v": "first"}))).head_only();
        c.merge(&format!("{WIDGETS}/a"), json!({"spec": {"v": "other"}})).only(&["/spec", "/message"]);
    });
    area.case("lists, maps and macros", |c| {
        with_rules(c, json!({"items": {"type": "array", "maxItems": 10, "items": {"type": "object", "properties": {"n": {"type": "integer"}, "k": {"type": "string", "maxLength": 20}}}},
            "m": {"type": "object", "maxProperties": 10, "additionalProperties": {"type": "string", "maxLength": 20}}}), json!([
            {"rule": "!has(self.items) || self.items.all(i, i.n > 0)", "message": "all n positive"},
            {"rule": "!has(self.items) || self.items.exists_one(i, i.k == 'main') || size(self.items) == 0", "message": "exactly one main"},
            {"rule": "!has(self.m) || self.m.all(k, k.startsWith('x-') && self.m[k].size() > 1)", "message": "keys begin with x-"},
            {"rule": "!has(self.items) || self.items.map(i, i.n).sum() < 100", "message": "sum below 100"}]));
        c.post(WIDGETS, widget("a", json!({"items": [{"n": 0, "k": "main"}]})));
        c.post(WIDGETS, widget("b", json!({"items": [{"n": 1, "k": "main"}, {"n": 1, "k": "main"}]})));
        c.post(WIDGETS, widget("d", json!({"m": {"x-a": "1"}})));
        c.post(WIDGETS, widget("e", json!({"items": [{"n": 99, "k": "main"}, {"n": 9, "k": "b"}]})));
        c.post(WIDGETS, widget("f", json!({"items": [{"n": 9, "k": "main"}], "m": {"x-a": "yes"}}))).head_only();
    });
    area.case("the Kubernetes libraries", |c| {
        let text = |rule: &str| json!({"type": "string", "maxLength": 100, "x-kubernetes-validations": [{"rule": rule, "message": rule}]});
        with_rules(c, json!({"ip": text("isIP(self) && ip(self).family() == 4"), "cidr": text("isCIDR(self) && cidr(self).prefixLength() <= 24"),
            "url": text("isURL(self) && url(self).getHostname() == 'example.com'"), "q": text("isQuantity(self) && quantity(self).isGreaterThan(quantity('1Gi'))"),
            "re": text("self.find('[0-9]+') == '42'"), "dur": text("duration(self) < duration('2h')"), "fmt": text("!format.dns1123Label().validate(self).hasValue()"),
            "ver": text("isSemver(self) && semver(self).major() == 1"), "low": text("self.lowerAscii() == self")}), json!([]));
        c.post(WIDGETS, widget("good", json!({"ip": "10.0.0.1", "cidr": "10.0.0.0/8", "url": "https://example.com:80/x", "q": "2Gi", "re": "abc42", "dur": "90m", "fmt": "abc", "ver": "1.2.3", "low": "x"}))).only(&["/spec", "/message"]);
        for (key, value) in [("ip", "::1"), ("cidr", "10.0.0.0/28"), ("url", "https://other"), ("q", "1M"), ("re", "abc"), ("dur", "3h"), ("fmt", "A B"), ("ver", "2.0.0"), ("low", "X"), ("ip", "nonsense"), ("dur", "x")] {
            c.post(WIDGETS, widget("bad", json!({key: value})));
        }
    });
    area.case("rules that do not compile", |c| {
        for rule in ["self.missing == 1", "self.n ==", "self.n == 'x'", "self.n + 1", "unknownFunction(self.n)", ""] {
            c.post(CRDS, widget_crd(spec_schema(json!({"type": "object", "properties": {"n": {"type": "integer"}},
                "x-kubernetes-validations": [{"rule": rule}]})))).any_error_order();
        }
        c.post(CRDS, widget_crd(spec_schema(json!({"type": "object", "properties": {"n": {"type": "integer"}},
            "x-kubernetes-validations": [{"rule": "self.n > 1", "messageExpression": "self.n"}]})))).any_error_order();
        c.post(CRDS, widget_crd(spec_schema(json!({"type": "object", "properties": {"n": {"type": "integer"}},
            "x-kubernetes-validations": [{"rule": "self.n > 1", "message": "a\nb"}]})))).any_error_order();
    });
    area.case("rules that cost too much", |c| {
        c.post(CRDS, widget_crd(spec_schema(json!({"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}}},
            "x-kubernetes-validations": [{"rule": "self.a.all(x, self.a.all(y, x == y || x.contains(y)))"}]})))).any_error_order();
    });
    area.case("rules at the root and on metadata", |c| {
        let mut schema = spec_schema(json!({"type": "object", "properties": {"n": {"type": "integer"}}}));
        schema["x-kubernetes-validations"] = json!([
            {"rule": "self.metadata.name.startsWith('ok')", "message": "name begins with ok"},
            {"rule": "self.kind == 'Widget' && self.apiVersion.endsWith('/v1')", "message": "never"}]);
        establish(c, widget_crd(schema));
        c.post(WIDGETS, widget("bad", json!({})));
        c.post(WIDGETS, widget("ok-1", json!({}))).head_only();
    });
    area.case("a runtime error is a failure", |c| {
        with_rules(c, json!({"a": {"type": "integer"}, "b": {"type": "integer"}, "l": {"type": "array", "maxItems": 5, "items": {"type": "integer"}}}),
            json!([{"rule": "!has(self.a) || self.a / self.b > 0"}, {"rule": "!has(self.l) || self.l[1] > 0"}]));
        c.post(WIDGETS, widget("a", json!({"a": 1, "b": 0})));
        c.post(WIDGETS, widget("a", json!({"l": [1]})));
        c.post(WIDGETS, widget("a", json!({"a": 1})));
    });
    area.case("schema errors come first", |c| {
        with_rules(c, json!({"n": {"type": "integer", "minimum": 1}}), json!([{"rule": "self.n < 5"}]));
        c.post(WIDGETS, widget("a", json!({"n": "x"}))).any_error_order();
        c.post(WIDGETS, widget("a", json!({"n": 0}))).any_error_order();
        c.post(WIDGETS, widget("a", json!({"n": 9}))).any_error_order();
    });
    area.case("on status too", |c| {
        establish(c, widget_crd(json!({"type": "object", "properties": {"spec": {"type": "object"},
            "status": {"type": "object", "properties": {"phase": {"type": "string"}}, "x-kubernetes-validations": [{"rule": "self.phase != 'Bad'", "message": "not bad"}]}}})));
        c.post(WIDGETS, widget("a", json!({}))).quiet();
        c.merge(&format!("{WIDGETS}/a/status"), json!({"status": {"phase": "Bad"}}));
        c.merge(&format!("{WIDGETS}/a/status"), json!({"status": {"phase": "Good"}})).only(&["/status"]);
    });
    area.case("default values meet the rules", |c| {
        c.post(CRDS, widget_crd(spec_schema(json!({"type": "object", "properties": {"n": {"type": "integer", "default": 9,
            "x-kubernetes-validations": [{"rule": "self < 5"}]}}})))).any_error_order();
    });
}
