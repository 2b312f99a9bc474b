use proptest::prelude::*;

use dissectors::Id;
use dissectors::kit::{FlowFacts, Transport};

use super::Filter;
use super::syntax::{Comparison, Expression, FieldTest, Literal, Test};

fn error(source: &str) -> String {
    source.parse::<Filter>().expect_err(source).to_string()
}

#[test]
fn errors_have_a_position_and_help() {
    let said = error("a2s.info_response.playrs == 0");
    assert!(said.contains("there is no field `a2s.info_response.playrs`"), "{said}");
    assert!(
        said.contains("^^^^^^^^^^^^^^^^^^^^^^^^ did you mean `a2s.info_response.players`"),
        "{said}"
    );
    for (source, what, help) in [
        ("", "unexpected end", "expected: a field"),
        ("frame ==", "unexpected end", "expected: a value"),
        ("frame == 5 frame", "unexpected `frame`", "`and`, `or` or the end"),
        ("(frame == 5", "unexpected end", "`)`"),
        ("frame = 5", "unknown operator =", "write == for equality"),
        ("frame == 5 & tcp", "unknown operator", "|| for"),
        ("map == \"x", "missing closing quote", "the text starts here"),
        ("map == ctf_2fort", "cannot be compared", "put texts in double quotes"),
        ("frame == \"x\"", "cannot be compared", "compare it with a number"),
        ("frame > 5ms", "cannot be compared", "compare it with a number"),
        ("ip.src == 10.0.0.0/33", "cannot be compared", "write an address as 10.0.0.2"),
        ("ip.src > 10.0.0.1", "cannot be compared", "write an address as 10.0.0.2"),
        ("severity >= grave", "cannot be compared", "note, warning and error"),
        ("time > \"soon\"", "cannot be compared", "write a time in quotes"),
        ("protocol == a2x", "there is no protocol `a2x`", "valve_master"),
        ("protocol > a2s", "has no order", "compare it with =="),
        ("message matches \"info\"", "is a name from a list", "compare it with =="),
        ("map == \"\\q\"", "there is no escape \\q", "write \\\\ for a backslash"),
        ("map == \"\\x4\"", "there is no escape \\x", "\\x41 for a byte"),
        ("message == info_respons", "there is no message `info_respons`", "`info_response`"),
        ("rule == A2S0330", "there is no rule `A2S0330`", "did you mean"),
        ("info_response", "there is no field", "`a2s.info_response`"),
        ("udp == 5", "cannot be compared", "without a comparison"),
        ("a2s == 5", "has no value", "without a comparison"),
        ("map matches \"(\"", "invalid regular expression", "unclosed group"),
        ("map matches x", "in double quotes", "\"x\""),
        ("map matches \"(x{1000}){1000}{1000}\"", "invalid regular expression", "size limit"),
        ("answered == false", "not yet known", "`gamewire check` finds those without"),
        ("frame in 5", "unexpected `5`", "a set"),
        ("map in {a..f}", "cannot be compared", "put texts in double quotes"),
        ("map in {\"a\"..5}", "cannot be compared", "put texts in double quotes"),
        ("map in {\"a\" .. f}", "unexpected `f`", "the end of the range in quotes"),
        ("time in {\"soon\"..\"2027\"}", "cannot be compared", "write a time in quotes"),
        ("ip.src in {10.0.0.0/8..11.0.0.0}", "cannot be compared", "a range as 10.0.0.2..10.0.0.9"),
        ("host in {10.0.0.1:5..10.0.0.2:5}", "cannot be compared", "a range as 10.0.0.2..10.0.0.9"),
        ("ip.src in {10.0.0.1..::1}", "cannot be compared", "a range as 10.0.0.2..10.0.0.9"),
        ("..", "unexpected `..`", "a field"),
        ("a2s..map", "unexpected `a2s..map`", "a field"),
        ("frame in {}", "unexpected `}`", "a value"),
        ("frame in {5..1}", "this range is empty", "write 1..5"),
        ("map in {\"b\"..\"a\"}", "this range is empty", "write \"a\"..\"b\""),
        (
            "ip.src in {10.0.0.1, 10.0.0.9..10.0.0.2}",
            "this range is empty",
            "write 10.0.0.2..10.0.0.9",
        ),
        ("time in {\"2027-01-01\"..\"2026-01-01\"}", "this range is empty", "write \"2026"),
    ] {
        let said = error(source);
        assert!(said.contains(what) && said.contains(help), "{source}: {said}");
    }
    let deep = format!("{}frame{}", "(".repeat(100), ")".repeat(100));
    assert!(error(&deep).contains("nested too deeply"));
    assert!(error(&"x".repeat(100_000)).contains("too long"));
    assert!(!error("fr\u{1b}[31mame").contains('\u{1b}'));
    // A character of several bytes that words cannot contain.
    let said = error("fey\u{309}.infespo_y");
    assert!(said.contains("unexpected character"), "{said}");
}

#[test]
fn many_terms_are_not_deep_nesting() {
    let many = vec!["frame == 5"; 2000].join(" or ");
    assert!(many.parse::<Filter>().is_ok());
}

#[test]
fn needs_are_known_before_the_first_message() {
    let filter = |source: &str| source.parse::<Filter>().unwrap();
    assert!(filter("a2s.info_response.players > 3").needs_fields());
    assert!(!filter("ip.src == ::1 and a2s").needs_fields());
    assert!(filter("a2s and not (flow == 3)").needs_flow_numbers());
}

#[test]
fn a_filter_may_decide_before_a_message_is_decoded() {
    let ends = ["10.0.0.2:27015", "10.0.0.1:50000"].map(|end| end.parse().unwrap());
    let (transport, seen, silence) = (Transport::Udp, [true; 2], 0);
    let flow = FlowFacts { ends, began: true, seen, silence, lossy: false, number: 3, transport };
    let a2s = Id::named("a2s");
    let messages = a2s.unwrap().info().messages;
    let [info, rules] = ["info_response", "rules_response"]
        .map(|name| messages.iter().copied().find(|message| message.name == name));
    for (source, of_flow, of_info, of_rules) in [
        ("ip.addr == 10.0.0.1", Some(true), Some(true), Some(true)),
        ("ip.addr == 10.0.0.3", Some(false), Some(false), Some(false)),
        ("ip.src == 10.0.0.1", None, None, None),
        ("ip.src == 10.0.0.3 or tcp", Some(false), Some(false), Some(false)),
        ("ip.src != 10.0.0.3", Some(true), Some(true), Some(true)),
        ("host == 10.0.0.1:50000 and flow == 3", Some(true), Some(true), Some(true)),
        ("a2s", Some(true), Some(true), Some(true)),
        ("gamespy4", Some(false), Some(false), Some(false)),
        ("gamespy4.info_response.properties.hostport > 1", Some(false), Some(false), Some(false)),
        ("a2s.info_response.players == 3", None, None, Some(false)),
        ("not a2s.info_response.players == 3", None, None, Some(true)),
        ("a2s.info_response", None, Some(true), Some(false)),
        ("message == info_response", None, Some(true), Some(false)),
        ("a2s.info_response and frame == 3", None, None, Some(false)),
        ("time > \"2026-01-01\" and udp.port == 1", Some(false), Some(false), Some(false)),
        ("rule == A2S030 or length > 5 or response_time > 1s", None, None, None),
    ] {
        let filter = source.parse::<Filter>().unwrap();
        let of = |message| filter.decide(a2s, message, &flow);
        assert_eq!([of(None), of(info), of(rules)], [of_flow, of_info, of_rules], "{source}");
    }
}

fn literal() -> impl Strategy<Value = Literal> {
    let word = "[A-Za-z0-9_:/%*+-][A-Za-z0-9_:/%*+-]{0,8}";
    let quoted = r#"([ !#-\[\]-~é\u{1F600}]|\\[ -~]){0,12}"#;
    prop_oneof![
        word.prop_map(|text| Literal { text, is_quoted: false, at: 0..0 }),
        quoted.prop_map(|text| Literal { text, is_quoted: true, at: 0..0 }),
    ]
    .prop_filter("an operator", |it| it.is_quoted || !is_operator(&it.text))
}

fn is_operator(word: &str) -> bool {
    ["and", "or", "not", "in"].contains(&word)
        || Comparison::ALL.iter().any(|(name, _)| *name == word)
}

fn path() -> impl Strategy<Value = Vec<String>> {
    let head = "[a-z][a-z0-9_]{0,6}".prop_filter("an operator", |word| !is_operator(word));
    (
        head,
        prop::collection::vec("[a-z0-9_]{1,6}", 0..3),
        prop::collection::vec("[ -~]{0,6}[ !.]", 0..2),
    )
        .prop_map(|(head, names, keys)| [vec![head], names, keys].concat())
}

fn expression() -> impl Strategy<Value = Expression> {
    let comparison = prop::sample::select(&Comparison::ALL[..8]);
    let ask = prop_oneof![
        Just(FieldTest::Present),
        (comparison, literal())
            .prop_map(|((_, comparison), literal)| FieldTest::Compare(comparison, literal)),
        prop::collection::vec((literal(), prop::option::of(literal())), 1..4).prop_map(|set| {
            let is_range = |first: &Literal, last: &Literal| first.is_quoted == last.is_quoted;
            let kept = |(first, last): (Literal, Option<Literal>)| {
                let last = last.filter(|last| is_range(&first, last));
                (first, last)
            };
            FieldTest::In(set.into_iter().map(kept).collect())
        }),
    ];
    let test = (path(), ask).prop_map(|(path, ask)| Expression::Test(Test { path, at: 0..0, ask }));
    test.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 2..4).prop_map(Expression::And),
            prop::collection::vec(inner.clone(), 2..4).prop_map(Expression::Or),
            inner.prop_map(|inner| Expression::Not(Box::new(inner))),
        ]
    })
}

/// The same without positions.
fn plain(expression: Expression) -> Expression {
    let literal = |it: Literal| Literal { at: 0..0, ..it };
    match expression {
        Expression::And(parts) => Expression::And(parts.into_iter().map(plain).collect()),
        Expression::Or(parts) => Expression::Or(parts.into_iter().map(plain).collect()),
        Expression::Not(inner) => Expression::Not(Box::new(plain(*inner))),
        Expression::Test(test) => {
            let ask = match test.ask {
                FieldTest::Present => FieldTest::Present,
                FieldTest::Compare(comparison, it) => FieldTest::Compare(comparison, literal(it)),
                FieldTest::In(set) => FieldTest::In(
                    set.into_iter()
                        .map(|(first, last)| (literal(first), last.map(literal)))
                        .collect(),
                ),
            };
            Expression::Test(Test { path: test.path, at: 0..0, ask })
        }
    }
}

proptest! {
    #[test]
    fn what_is_printed_reads_back(expression in expression()) {
        let printed = expression.to_string();
        let read = Expression::read(&printed).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(plain(read), expression, "{}", printed);
    }

    #[test]
    fn anything_is_read_or_refused(source in "[ -~\\n]{0,60}|\\PC{0,40}") {
        if let Err(error) = source.parse::<Filter>() {
            prop_assert!(!error.to_string().is_empty());
        }
    }
}
