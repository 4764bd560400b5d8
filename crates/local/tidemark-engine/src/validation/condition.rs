//! Checks conditions: `ConditionExpression`, `FilterExpression` and `KeyConditionExpression`.

use serde_json::{Value, json};

use super::lexer::Kind;
use super::parser::{Constant, Parser, References, size};
use super::path::Path;

/// The most comparisons and logical operators.
const OPERATORS_MAX: usize = 300;

/// The most operands of `IN`.
const IN_OPERANDS_MAX: usize = 100;

/// How deep functions may nest here; the emulator refuses any nesting.
const FUNCTION_DEPTH_MAX: usize = 4;

const TYPES: [&str; 10] = ["B", "NULL", "SS", "BOOL", "L", "BS", "N", "NS", "S", "M"];

/// The functions and their number of operands.
const FUNCTIONS: [(&str, usize); 6] = [
    ("attribute_exists", 1),
    ("attribute_not_exists", 1),
    ("attribute_type", 2),
    ("begins_with", 2),
    ("contains", 2),
    ("size", 1),
];

/// An understood condition.
#[derive(Debug, Default)]
pub(super) struct Condition {
    /// The fault to report.
    pub(super) fault: Option<String>,
    /// The functions of constants, which the emulator does not know.
    pub(super) folds: Vec<Fold>,
    /// Whether `OR` stands outside all parentheses.
    pub(super) has_outer_or: bool,
    /// An attribute that has to equal an empty value.
    pub(super) compared_to_empty: Option<String>,
}

/// A part of an expression to replace.
#[derive(Debug)]
pub(super) struct Fold {
    pub(super) start: usize,
    pub(super) end: usize,
    /// One value, or two to compare.
    pub(super) values: Vec<Value>,
}

enum Operand<'a> {
    Path(Path),
    Constant(Constant<'a>),
    /// `size(..)`
    Size,
    /// A function that is a whole condition.
    Test,
    /// A function with an unknown name, in any place.
    Unknown,
}

/// Parses a condition; `None` if the emulator has to judge it. Parentheses and operators need no
/// recursion, because their values do not matter.
pub(super) fn parse(text: &str, references: References<'_>) -> Option<Condition> {
    let mut reader = Reader { parser: Parser::new(text, references)?, operators: 0, condition: Condition::default() };
    let mut open = 0_usize;
    loop {
        loop {
            if reader.parser.keyword("NOT") {
                reader.operators += 1;
            } else if reader.parser.symbol("(") {
                open += 1;
            } else {
                break;
            }
        }
        reader.comparison()?;
        while reader.parser.symbol(")") {
            open = open.checked_sub(1)?;
        }
        if reader.parser.keyword("OR") {
            reader.condition.has_outer_or |= open == 0;
        } else if !reader.parser.keyword("AND") {
            break;
        }
        reader.operators += 1;
    }
    if open > 0 || !reader.parser.is_at_end() {
        return None;
    }
    if reader.operators > OPERATORS_MAX {
        let count = OPERATORS_MAX + 1;
        reader.parser.fault(format!("The expression contains too many operators; operator count: {count}"));
    }
    Some(Condition { fault: reader.parser.into_fault(), ..reader.condition })
}

struct Reader<'a> {
    parser: Parser<'a>,
    operators: usize,
    condition: Condition,
}

impl<'a> Reader<'a> {
    fn comparison(&mut self) -> Option<()> {
        let left = self.operand(0)?;
        let is_compared = self.parser.peek().is_some_and(|next| match next.kind {
            Kind::Symbol => next.text != ")",
            _ => ["BETWEEN", "IN"].iter().any(|operator| next.text.eq_ignore_ascii_case(operator)),
        });
        if matches!(left, Operand::Test) || matches!(left, Operand::Unknown) && !is_compared {
            return Some(());
        }
        self.operators += 1;
        if self.parser.keyword("BETWEEN") {
            let lower = self.operand(0)?;
            self.parser.keyword("AND").then_some(())?;
            let upper = self.operand(0)?;
            self.ordered("BETWEEN", &[&left, &lower, &upper]);
            self.bounds(&lower, &upper);
            return Some(());
        }
        if self.parser.keyword("IN") {
            self.parser.symbol("(").then_some(())?;
            return self.choices();
        }
        let operator = self.parser.next().filter(|token| token.kind == Kind::Symbol)?.text;
        let right = self.operand(0)?;
        match operator {
            "=" | "<>" => {
                if let (Operand::Path(path), Operand::Constant(constant))
                | (Operand::Constant(constant), Operand::Path(path)) = (&left, &right)
                    && constant.value == ""
                {
                    self.condition.compared_to_empty = Some(path.attribute().to_owned());
                }
            }
            "<" | "<=" | ">" | ">=" => self.ordered(operator, &[&left, &right]),
            _ => return None,
        }
        if let (Operand::Path(left), Operand::Path(right)) = (&left, &right)
            && left == right
        {
            self.parser.fault(format!(
                "The first operand must be distinct from the remaining operands for this operator or function; \
                 operator: {operator}, first operand: {left}"
            ));
        }
        Some(())
    }

    fn choices(&mut self) -> Option<()> {
        let mut count = 0;
        loop {
            self.operand(0)?;
            count += 1;
            if !self.parser.symbol(",") {
                break;
            }
        }
        if count > IN_OPERANDS_MAX {
            self.parser.fault(format!(
                "Too many operands for the operator or function; operator or function: IN, number of operands: {count}"
            ));
        }
        self.parser.symbol(")").then_some(())
    }

    /// Only strings, numbers and binaries have an order.
    fn ordered(&mut self, operator: &str, operands: &[&Operand<'_>]) {
        for operand in operands {
            if let Operand::Constant(constant) = operand
                && !matches!(constant.kind, "S" | "N" | "B")
            {
                self.parser.wrong_type(operator, constant.kind);
            }
        }
    }

    fn bounds(&mut self, lower: &Operand<'_>, upper: &Operand<'_>) {
        let (Operand::Constant(lower), Operand::Constant(upper)) = (lower, upper) else { return };
        let requirement = if lower.kind != upper.kind {
            "same data type for lower and upper bounds"
        } else if super::values::is_greater(lower.kind, lower.value, upper.value) {
            "upper bound to be greater than or equal to lower bound"
        } else {
            return;
        };
        let shown = |bound: &Constant<'_>| {
            let value = bound.value.as_str().map_or_else(|| bound.value.to_string(), str::to_owned);
            format!("AttributeValue: {{{}:{value}}}", bound.kind)
        };
        self.parser.fault(format!(
            "The BETWEEN operator requires {requirement}; lower bound operand: {}, upper bound operand: {}",
            shown(lower),
            shown(upper)
        ));
    }

    fn operand(&mut self, depth: usize) -> Option<Operand<'a>> {
        if self.parser.is_at_function() {
            return self.function(depth);
        }
        if self.parser.peek()?.kind == Kind::Value {
            return self.parser.constant().map(Operand::Constant);
        }
        self.parser.path().map(Operand::Path)
    }

    fn function(&mut self, depth: usize) -> Option<Operand<'a>> {
        if depth > FUNCTION_DEPTH_MAX {
            return None;
        }
        let name = self.parser.next()?;
        self.parser.symbol("(").then_some(())?;
        let mut operands = vec![self.operand(depth + 1)?];
        while self.parser.symbol(",") {
            operands.push(self.operand(depth + 1)?);
        }
        self.parser.symbol(")").then_some(())?;
        let Some((_, number)) = FUNCTIONS.iter().find(|(known, _)| *known == name.text) else {
            self.parser.fault(match name.text {
                "if_not_exists" | "list_append" => {
                    format!("The function is not allowed in a condition expression; function: {}", name.text)
                }
                other => format!("Invalid function name; function: {other}"),
            });
            return Some(Operand::Unknown);
        };
        let folded = if operands.len() == *number {
            self.folded(name.text, &operands)
        } else {
            self.parser.wrong_number(name.text, operands.len());
            None
        };
        if let Some(values) = folded {
            let end = self.parser.last()?.end();
            self.condition.folds.push(Fold { start: name.start, end, values });
        }
        Some(if name.text == "size" { Operand::Size } else { Operand::Test })
    }

    /// Checks a function's operands. Returns values that replace a function of constants.
    fn folded(&mut self, name: &str, operands: &[Operand<'a>]) -> Option<Vec<Value>> {
        match (name, operands) {
            ("size", [Operand::Constant(constant)]) => {
                let size = size(constant);
                if size.is_none() {
                    self.parser.wrong_type(name, constant.kind);
                }
                return Some(vec![size?]);
            }
            ("size", [Operand::Size]) => self.parser.wrong_type(name, "N"),
            ("attribute_exists" | "attribute_not_exists", [operand]) if !matches!(operand, Operand::Path(_)) => {
                self.parser
                    .fault(format!("Operator or function requires a document path; operator or function: {name}"));
            }
            ("attribute_type", [operand, kind]) => return self.attribute_type(operand, kind),
            ("begins_with", operands) => {
                for operand in operands {
                    match operand {
                        Operand::Constant(Constant { kind: "S" | "B", .. })
                        | Operand::Path(_)
                        | Operand::Test
                        | Operand::Unknown => {}
                        Operand::Constant(constant) => self.parser.wrong_type(name, constant.kind),
                        Operand::Size => self.parser.wrong_type(name, "N"),
                    }
                }
            }
            ("contains", [Operand::Constant(Constant { kind: kind @ ("N" | "BOOL" | "NULL" | "M"), .. }), _]) => {
                self.parser.wrong_type(name, kind);
            }
            _ => {}
        }
        None
    }

    fn attribute_type(&mut self, operand: &Operand<'a>, kind: &Operand<'a>) -> Option<Vec<Value>> {
        let name = "attribute_type";
        let Operand::Constant(constant) = kind else {
            self.parser.fault(format!(
                "Operator or function requires an expression attribute value; operator or function: {name}"
            ));
            return None;
        };
        match (constant.kind, constant.value.as_str()) {
            ("S", Some(kind)) if TYPES.contains(&kind) => {}
            ("S", Some(kind)) => {
                let valid = TYPES.join(",");
                self.parser.fault(format!("Invalid attribute type name found; type: {kind}, valid types: {{{valid}}}"));
            }
            (kind, _) => self.parser.wrong_type(name, kind),
        }
        let Operand::Constant(operand) = operand else { return None };
        Some(vec![json!({ "S": operand.kind }), json!({ "S": constant.value })])
    }
}
