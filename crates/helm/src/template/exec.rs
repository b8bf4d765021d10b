//! Runs templates: Go's text/template on the values that Helm gives it.
//!
//! Errors name the part of the template that was looked at last, as Go's do; so [`Frame::at`] moves along with
//! execution.

use std::borrow::Cow;
use std::rc::Rc;

use foldhash::{HashMap, HashMapExt as _};

use super::error::{ExecError, Fault};
use super::functions::{Function, Outcome, Param, builtin, fits};
use super::machine::Machine;
use super::node::{Branch, Command, Node, Operand, OperandKind, Pipe, TemplateCall, Tree};
use super::value::{BYTES_PER_STEP, Value};
use super::{MAX_OUTPUT, print};

/// How deep statements and pipelines may run inside each other: what the stack of [`super::STACK`] holds with a margin.
const MAX_FRAMES: usize = 12_000;

/// How often a template may be included in itself, as in Helm.
const MAX_INCLUDES: usize = 1000;

/// What errors call a text that `tpl` was given.
const TPL: &str = "gotpl";

type Ran<T> = Result<T, Box<ExecError>>;

/// A value, and whether Go would know it as an `interface {}` only: what comes out of maps and lists.
#[derive(Clone)]
pub(super) struct Typed {
    value: Value,
    is_interface: bool,
}

impl Typed {
    fn concrete(value: Value) -> Self {
        Self { value, is_interface: false }
    }

    fn interface(value: Value) -> Self {
        Self { value, is_interface: true }
    }

    /// The type Go would name. Nothing at all has none.
    fn type_name(&self) -> &'static str {
        if self.is_interface { "interface {}" } else { self.value.type_name() }
    }

    fn is_missing(&self) -> bool {
        matches!(self.value, Value::Nil) && !self.is_interface
    }
}

/// The part of a template that was looked at last.
#[derive(Clone, Copy)]
enum At<'t> {
    Nothing,
    Operand(&'t Operand),
    Command(&'t Command),
    Pipe(&'t Pipe),
    Template(&'t TemplateCall),
}

/// One template being executed.
struct Frame<'t> {
    tree: &'t Tree,
    variables: Vec<(Rc<str>, Typed)>,
    at: At<'t>,
}

/// How a list of statements ended.
#[derive(PartialEq)]
enum Flow {
    On,
    Break,
    Continue,
}

impl<'t> Frame<'t> {
    #[cold]
    fn error(&self, fault: impl Into<Fault>) -> Box<ExecError> {
        let (position, context) = match self.at {
            At::Nothing => (0, String::new()),
            At::Operand(operand) => (operand.position, operand.to_string()),
            At::Command(command) => (command.position, command.to_string()),
            At::Pipe(pipe) => (pipe.position, pipe.to_string()),
            At::Template(call) => (call.position, call.to_string()),
        };
        Box::new(ExecError::new(&self.tree.source, &self.tree.name, position, context, fault.into()))
    }

    fn set(&mut self, name: &str, value: Typed) {
        if let Some((_, variable)) = self.variables.iter_mut().rev().find(|(known, _)| **known == *name) {
            *variable = value;
        }
    }

    fn set_top(&mut self, from_top: usize, value: Typed) {
        let index = self.variables.len().saturating_sub(from_top);
        if let Some((_, variable)) = self.variables.get_mut(index) {
            *variable = value;
        }
    }
}

/// Executes templates that know each other.
pub(crate) struct Executor<'m> {
    pub(crate) machine: Machine<'m>,
    /// Later scopes are those of `tpl`, whose definitions last as long as it.
    scopes: Vec<HashMap<Rc<str>, Rc<Tree>>>,
    /// Texts that `tpl` was given, parsed.
    parsed: HashMap<Rc<str>, Rc<[Rc<Tree>]>>,
    parsed_bytes: usize,
    /// `$`
    root: Rc<str>,
    /// Lists for arguments that nobody uses now.
    spare: Vec<Vec<Value>>,
    frames: usize,
    /// What is printed; a template within a template prints behind it, and takes that away again.
    out: String,
    /// How much the templates before have printed.
    kept: usize,
}

/// How much text of `tpl` is remembered: trees are some fifty times as large.
const MAX_PARSED: usize = 2 << 20;

/// Of how many bytes a tree is made in the time of a step.
const PARSED_PER_STEP: usize = 4;

impl<'m> Executor<'m> {
    pub(crate) fn new(machine: Machine<'m>) -> Self {
        Self {
            machine,
            scopes: vec![HashMap::new()],
            parsed: HashMap::new(),
            parsed_bytes: 0,
            root: "$".into(),
            spare: Vec::new(),
            frames: 0,
            out: String::new(),
            kept: 0,
        }
    }

    /// Adds trees; one that prints nothing does not replace another.
    pub(crate) fn define(&mut self, trees: Vec<Tree>) {
        for tree in trees {
            if super::parse::is_empty(&tree) && self.find(&tree.name).is_some() {
                continue;
            }
            if let Some(scope) = self.scopes.last_mut() {
                scope.insert(tree.name.clone(), Rc::new(tree));
            }
        }
    }

    fn find(&self, name: &str) -> Option<Rc<Tree>> {
        self.scopes.iter().rev().find_map(|scope| scope.get(name)).cloned()
    }

    fn known(&self, name: &str) -> Result<Rc<Tree>, Fault> {
        self.find(name).ok_or_else(|| Fault::NoTemplate(name.to_owned()))
    }

    /// What a template prints, without what Go prints for nothing.
    pub(crate) fn execute(&mut self, name: &str, data: &Value) -> Result<String, Fault> {
        let tree = self.known(name)?;
        let printed = self.execute_tree(&tree, data, |printed| without_no_value(printed).into_owned());
        let printed = printed.map_err(Fault::Nested)?;
        self.kept += printed.len();
        Ok(printed)
    }

    fn execute_tree<T>(&mut self, tree: &Tree, data: &Value, take: impl FnOnce(&str) -> T) -> Ran<T> {
        let mark = self.out.len();
        let ran = self.run(tree, &Typed::concrete(data.clone()));
        let taken = ran.map(|()| take(self.out.get(mark..).unwrap_or_default()));
        self.out.truncate(mark);
        taken
    }

    fn run(&mut self, tree: &Tree, dot: &Typed) -> Ran<()> {
        let mut frame = Frame { tree, variables: vec![(self.root.clone(), dot.clone())], at: At::Nothing };
        self.walk(&mut frame, dot, &tree.root)?;
        Ok(())
    }

    /// `include`
    pub(crate) fn include(&mut self, name: &str, data: &Value) -> Result<Rc<str>, Fault> {
        let tree = self.known(name)?;
        let times = tree.included.get();
        if times > MAX_INCLUDES {
            let words = format!("rendering template has a nested reference name: {name}: unable to execute template");
            return Err(words.into());
        }
        tree.included.set(times + 1);
        let printed = self.execute_tree(&tree, data, |printed| printed.into());
        tree.included.set(times);
        printed.map_err(Fault::Nested)
    }

    /// `tpl`
    pub(crate) fn tpl(&mut self, text: &str, data: &Value) -> Result<Rc<str>, Fault> {
        // Without actions there is nothing to execute.
        if !text.contains("{{") {
            return Ok(without_no_value(text).into());
        }
        let quoted = || print::quote(text.as_bytes());
        let trees = match self.parsed.get(text) {
            Some(trees) => trees.clone(),
            None => {
                self.machine.spend(text.len() / PARSED_PER_STEP)?;
                self.parse(text).map_err(|error| format!("cannot parse template {}: {error}", quoted()))?
            }
        };
        let Some(main) = trees.iter().find(|tree| *tree.name == *TPL).cloned() else { return Ok("".into()) };
        let scope = trees.iter().map(|tree| (tree.name.clone(), tree.clone())).collect();
        self.scopes.push(scope);
        let printed = self.execute_tree(&main, data, |printed| without_no_value(printed).into());
        self.scopes.pop();
        let within = |inner| Fault::Within(format!("error during tpl function execution for {}: ", quoted()), inner);
        printed.map_err(within)
    }

    /// The trees of a text for `tpl`, which many templates give it again and again.
    fn parse(&mut self, text: &str) -> Result<Rc<[Rc<Tree>]>, super::ParseError> {
        let trees: Rc<[Rc<Tree>]> = super::parse::parse(TPL, text)?.into_iter().map(Rc::new).collect();
        if self.parsed_bytes + text.len() <= MAX_PARSED {
            self.parsed_bytes += text.len();
            self.parsed.insert(text.into(), trees.clone());
        }
        Ok(trees)
    }

    fn deeper<'t, T>(
        &mut self,
        frame: &mut Frame<'t>,
        run: impl FnOnce(&mut Self, &mut Frame<'t>) -> Ran<T>,
    ) -> Ran<T> {
        if self.frames > MAX_FRAMES {
            return Err(frame.error("exceeded maximum template depth"));
        }
        self.machine.spend(1).map_err(|fault| frame.error(fault))?;
        self.frames += 1;
        let ran = run(self, frame);
        self.frames -= 1;
        ran
    }

    fn walk<'t>(&mut self, frame: &mut Frame<'t>, dot: &Typed, nodes: &'t [Node]) -> Ran<Flow> {
        self.deeper(frame, |executor, frame| {
            for node in nodes {
                let flow = executor.statement(frame, dot, node)?;
                if flow != Flow::On {
                    return Ok(flow);
                }
            }
            Ok(Flow::On)
        })
    }

    fn statement<'t>(&mut self, frame: &mut Frame<'t>, dot: &Typed, node: &'t Node) -> Ran<Flow> {
        match node {
            Node::Text(range) => {
                self.out.push_str(frame.tree.source.part(range));
                self.check_output(frame)?;
            }
            Node::Action(pipe) => {
                let value = self.pipeline(frame, dot, pipe)?;
                if pipe.variables.is_empty() {
                    match value {
                        Value::Nil => self.out.push_str("<no value>"),
                        value => print::write_plain(&mut self.out, &value, 0),
                    }
                    self.check_output(frame)?;
                }
            }
            Node::If(branch) | Node::With(branch) => {
                let mark = frame.variables.len();
                let value = self.pipeline(frame, dot, &branch.pipe)?;
                let flow = if value.truth() {
                    let inner = Typed::concrete(value);
                    let dot = if matches!(node, Node::With(_)) { &inner } else { dot };
                    self.walk(frame, dot, &branch.then)
                } else {
                    branch.otherwise.as_ref().map_or(Ok(Flow::On), |nodes| self.walk(frame, dot, nodes))
                };
                frame.variables.truncate(mark);
                return flow;
            }
            Node::Range(branch) => {
                let mark = frame.variables.len();
                let flow = self.range(frame, dot, branch);
                frame.variables.truncate(mark);
                return flow;
            }
            Node::Template(call) => self.template(frame, dot, call)?,
            Node::Break => return Ok(Flow::Break),
            Node::Continue => return Ok(Flow::Continue),
        }
        Ok(Flow::On)
    }

    fn check_output(&self, frame: &Frame<'_>) -> Ran<()> {
        if self.kept + self.out.len() > MAX_OUTPUT {
            return Err(frame.error(Fault::Limit("the output is too large")));
        }
        Ok(())
    }

    fn template<'t>(&mut self, frame: &mut Frame<'t>, dot: &Typed, call: &'t TemplateCall) -> Ran<()> {
        frame.at = At::Template(call);
        let undefined = || format!("template {} not defined", print::quote(call.name.as_bytes()));
        let tree = self.find(&call.name).ok_or_else(|| frame.error(undefined()))?;
        let data = match &call.pipe {
            Some(pipe) => self.pipeline(frame, dot, pipe)?,
            None => Value::Nil,
        };
        self.run(&tree, &Typed::concrete(data))
    }

    fn range<'t>(&mut self, frame: &mut Frame<'t>, dot: &Typed, branch: &'t Branch) -> Ran<Flow> {
        let value = self.pipeline(frame, dot, &branch.pipe)?;
        let mut any = false;
        let mut each = |executor: &mut Self, frame: &mut Frame<'t>, index: Typed, item: Typed| -> Ran<Flow> {
            any = true;
            executor.iteration(frame, branch, index, item)
        };
        match &value {
            Value::Nil => {}
            Value::Int(count, kind) => {
                if branch.pipe.variables.len() > 1 {
                    return Err(frame.error(format!("can't use {count} to iterate over more than one variable")));
                }
                for index in 0..*count {
                    let item = Typed::concrete(Value::Int(index, *kind));
                    if each(self, frame, Typed::concrete(Value::Nil), item)? == Flow::Break {
                        break;
                    }
                }
            }
            Value::Map(map) => {
                // All of them are copied, even if the first ends it.
                self.machine.spend(map.len() / 4).map_err(|fault| frame.error(fault))?;
                for (key, field) in map.entries() {
                    let index = Typed::concrete(Value::Str(key));
                    if each(self, frame, index, Typed::interface(field))? == Flow::Break {
                        break;
                    }
                }
            }
            _ => {
                if let Some(entries) = native_entries(&value) {
                    for (key, item) in entries {
                        if each(self, frame, Typed::concrete(key), Typed::concrete(item))? == Flow::Break {
                            break;
                        }
                    }
                } else if let Some(items) = value.as_items() {
                    for (index, item) in items.iter().enumerate() {
                        let index = Typed::concrete(Value::count(index));
                        if each(self, frame, index, Typed::interface(item.clone()))? == Flow::Break {
                            break;
                        }
                    }
                } else {
                    return Err(frame.error(format!("range can't iterate over {}", print::display(&value))));
                }
            }
        }
        match &branch.otherwise {
            Some(nodes) if !any => self.walk(frame, dot, nodes),
            _ => Ok(Flow::On),
        }
    }

    fn iteration<'t>(&mut self, frame: &mut Frame<'t>, branch: &'t Branch, index: Typed, item: Typed) -> Ran<Flow> {
        let mark = frame.variables.len();
        match (branch.pipe.variables.as_slice(), branch.pipe.assigns) {
            ([], _) => {}
            ([one], true) => frame.set(one, item.clone()),
            ([one, two, ..], true) => {
                frame.set(one, index);
                frame.set(two, item.clone());
            }
            (names, false) => {
                frame.set_top(1, item.clone());
                if names.len() > 1 {
                    frame.set_top(2, index);
                }
            }
        }
        let flow = self.walk(frame, &item, &branch.then);
        frame.variables.truncate(mark);
        flow
    }

    /// The value of a pipeline. Nil is no value at all, as nothing knows any more what it was nil of.
    fn pipeline<'t>(&mut self, frame: &mut Frame<'t>, dot: &Typed, pipe: &'t Pipe) -> Ran<Value> {
        frame.at = At::Pipe(pipe);
        let value = self.deeper(frame, |executor, frame| {
            let mut value = None;
            for command in &pipe.commands {
                value = Some(executor.command(frame, dot, command, value)?.value);
            }
            Ok(value.unwrap_or(Value::Nil))
        })?;
        for name in &pipe.variables {
            let value = Typed::concrete(value.clone());
            if pipe.assigns {
                frame.set(name, value);
            } else {
                frame.variables.push((name.clone(), value));
            }
        }
        Ok(value)
    }

    fn command<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        dot: &Typed,
        command: &'t Command,
        last: Option<Value>,
    ) -> Ran<Typed> {
        let Some((first, args)) = command.args.split_first() else { return Ok(Typed::concrete(Value::Nil)) };
        match &first.kind {
            OperandKind::Field(_) | OperandKind::Chain(..) | OperandKind::Variable(..) => {
                return self.fields(frame, dot, first, args, last);
            }
            OperandKind::Function(function) => {
                return self.function(frame, dot, first, function, At::Command(command), args, last);
            }
            OperandKind::Pipe(pipe) => {
                not_a_function(frame, first, args, last.as_ref())?;
                return Ok(Typed::concrete(self.pipeline(frame, dot, pipe)?));
            }
            _ => {}
        }
        frame.at = At::Operand(first);
        not_a_function(frame, first, args, last.as_ref())?;
        match &first.kind {
            OperandKind::Dot => Ok(dot.clone()),
            OperandKind::Nil => Err(frame.error("nil is not a command")),
            _ => Ok(Typed::concrete(constant(frame, first)?)),
        }
    }

    /// A field of dot, of a variable or of something in parentheses; the last name may be a method with arguments.
    fn fields<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        dot: &Typed,
        operand: &'t Operand,
        args: &'t [Operand],
        last: Option<Value>,
    ) -> Ran<Typed> {
        frame.at = At::Operand(operand);
        let (mut receiver, names) = match &operand.kind {
            OperandKind::Field(names) => (dot.clone(), names),
            OperandKind::Variable(name, names) => {
                let known = frame.variables.iter().rev().find(|(known, _)| known == name);
                let value = known.map_or(Typed::concrete(Value::Nil), |(_, value)| value.clone());
                if names.is_empty() {
                    not_a_function(frame, operand, args, last.as_ref())?;
                    return Ok(value);
                }
                (value, names)
            }
            OperandKind::Chain(inner, names) => (self.operand(frame, dot, inner)?, names),
            _ => return Ok(Typed::concrete(Value::Nil)),
        };
        let Some((method, before)) = names.split_last() else { return Ok(receiver) };
        for name in before {
            receiver = self.field(frame, dot, operand, &receiver, name, &[], None)?;
        }
        self.field(frame, dot, operand, &receiver, method, args, last)
    }

    #[expect(clippy::too_many_arguments, reason = "what a field or method is looked up with")]
    fn field<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        dot: &Typed,
        operand: &'t Operand,
        receiver: &Typed,
        name: &str,
        args: &'t [Operand],
        last: Option<Value>,
    ) -> Ran<Typed> {
        if receiver.is_missing() {
            return Ok(Typed::concrete(Value::Nil));
        }
        let has_args = !args.is_empty() || last.is_some();
        match &receiver.value {
            Value::Nil => Err(frame.error(format!("nil pointer evaluating interface {{}}.{name}"))),
            Value::Native(native) => {
                if let Some(method) = native.method(name) {
                    let mut values = vec![receiver.value.clone()];
                    values.extend(self.arguments(frame, dot, method, name, args, last)?);
                    let result = self.call(method, &values);
                    frame.at = At::Operand(operand);
                    return result.map(Typed::concrete).map_err(|fault| {
                        let mut error = frame.error(fault);
                        error.calling = Some(method.name);
                        error
                    });
                }
                match native.field(name) {
                    Some(_) if has_args && native.kind() != "map" => {
                        Err(frame.error(format!("{name} has arguments but cannot be invoked as function")))
                    }
                    _ if has_args && native.kind() == "map" => {
                        Err(frame.error(format!("{name} is not a method but has arguments")))
                    }
                    Some(value) => Ok(Typed::concrete(value)),
                    None => Err(frame.error(format!("can't evaluate field {name} in type {}", receiver.type_name()))),
                }
            }
            Value::Map(_) if has_args => Err(frame.error(format!("{name} is not a method but has arguments"))),
            Value::Map(map) => Ok(Typed::interface(map.get(name).unwrap_or(Value::Nil))),
            _ => Err(frame.error(format!("can't evaluate field {name} in type {}", receiver.type_name()))),
        }
    }

    /// An operand whose type nobody asked for.
    fn operand<'t>(&mut self, frame: &mut Frame<'t>, dot: &Typed, operand: &'t Operand) -> Ran<Typed> {
        frame.at = At::Operand(operand);
        match &operand.kind {
            OperandKind::Dot => Ok(dot.clone()),
            OperandKind::Nil => Ok(Typed::concrete(Value::Nil)),
            OperandKind::Field(_) | OperandKind::Variable(..) | OperandKind::Chain(..) => {
                self.fields(frame, dot, operand, &[], None)
            }
            OperandKind::Pipe(pipe) => Ok(Typed::concrete(self.pipeline(frame, dot, pipe)?)),
            OperandKind::Function(function) => {
                self.function(frame, dot, operand, function, At::Operand(operand), &[], None)
            }
            OperandKind::Bool(_) | OperandKind::Number(_) | OperandKind::Text { .. } => {
                Ok(Typed::concrete(constant(frame, operand)?))
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "what a function is called with")]
    fn function<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        dot: &Typed,
        name: &'t Operand,
        function: &'static Function,
        whole: At<'t>,
        args: &'t [Operand],
        last: Option<Value>,
    ) -> Ran<Typed> {
        frame.at = At::Operand(name);
        if let Some(stops_at) = builtin::short_circuit(function.name) {
            function.check_count(args.len() + usize::from(last.is_some())).map_err(|words| frame.error(words))?;
            let mut value = Typed::concrete(Value::Nil);
            for arg in args {
                value = self.operand(frame, dot, arg)?;
                if value.value.truth() == stops_at {
                    return Ok(value);
                }
            }
            return Ok(last.map_or(value, Typed::concrete));
        }
        let mut values = self.arguments(frame, dot, function, function.name, args, last)?;
        let result = self.call(function, &values);
        values.clear();
        self.spare.push(values);
        result.map(Typed::concrete).map_err(|fault| {
            frame.at = whole;
            let mut error = frame.error(fault);
            error.calling = Some(function.name);
            error
        })
    }

    /// Runs a function within the limits: what it is given and what it makes has a size, and is counted as work.
    fn call(&mut self, function: &Function, values: &[Value]) -> Outcome {
        self.handles(values.iter().map(Value::size).fold(0, usize::saturating_add))?;
        let made = (function.run)(self, values)?;
        self.handles(made.size())?;
        Ok(made)
    }

    fn handles(&mut self, size: usize) -> Result<(), Fault> {
        fits(size)?;
        self.machine.spend(size / BYTES_PER_STEP)
    }

    fn arguments<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        dot: &Typed,
        function: &Function,
        name: &str,
        args: &'t [Operand],
        last: Option<Value>,
    ) -> Ran<Vec<Value>> {
        let count = args.len() + usize::from(last.is_some());
        function.check_count_as(name, count).map_err(|words| frame.error(words))?;
        self.machine.spend(1).map_err(|fault| frame.error(fault))?;
        let mut values = self.spare.pop().unwrap_or_default();
        for (index, arg) in args.iter().enumerate() {
            values.push(self.argument(frame, dot, function.param(index), arg)?);
        }
        if let Some(last) = last {
            function.param(values.len()).check(&last, false).map_err(|words| frame.error(words))?;
            values.push(last);
        }
        Ok(values)
    }

    fn argument<'t>(&mut self, frame: &mut Frame<'t>, dot: &Typed, param: Param, arg: &'t Operand) -> Ran<Value> {
        frame.at = At::Operand(arg);
        match &arg.kind {
            OperandKind::Nil => param.nil().map_err(|words| frame.error(words)),
            OperandKind::Bool(_) | OperandKind::Number(_) | OperandKind::Text { .. } => match param.constant(arg) {
                Some(value) => value.map_err(|words| frame.error(words)),
                None => constant(frame, arg),
            },
            _ => {
                let typed = self.operand(frame, dot, arg)?;
                param.check(&typed.value, typed.is_interface).map_err(|words| frame.error(words))?;
                Ok(typed.value)
            }
        }
    }
}

/// What was printed, without what Go prints for nothing.
fn without_no_value(printed: &str) -> Cow<'_, str> {
    if printed.contains("<no value>") { printed.replace("<no value>", "").into() } else { printed.into() }
}

fn native_entries(value: &Value) -> Option<Vec<(Value, Value)>> {
    match value {
        Value::Native(native) => native.entries(),
        _ => None,
    }
}

fn not_a_function(frame: &Frame<'_>, first: &Operand, args: &[Operand], last: Option<&Value>) -> Ran<()> {
    if args.is_empty() && last.is_none() {
        return Ok(());
    }
    Err(frame.error(format!("can't give argument to non-function {first}")))
}

/// A constant where any type will do.
fn constant(frame: &Frame<'_>, operand: &Operand) -> Ran<Value> {
    match &operand.kind {
        OperandKind::Bool(value) => Ok(Value::Bool(*value)),
        OperandKind::Text { text, .. } => Ok(Value::Str(text.clone())),
        OperandKind::Number(number) => match (number.int, number.float) {
            (_, Some(float)) if number.looks_like_float() => Ok(Value::Float(float)),
            (Some(int), _) => Ok(Value::int(int)),
            _ => Err(frame.error(format!("{} overflows int", number.text))),
        },
        _ => Ok(Value::Nil),
    }
}
