//! Requests and responses, from bytes to fields.

use crate::acr_master::rules::{ACR011, ACR020, ACR022, ACR023};

use super::lab::{Lab, LabSegment, M, S, exchange};

/// The two messages of an exchange, as scripts see them.
fn fields(request: &str, response: &str) -> [String; 2] {
    let lab = exchange(request, response);
    let [request, response] = &lab.sink.heard[..] else { panic!("{:?}", lab.sink.heard) };
    [request, response].map(|heard| format!("{} {}", heard.name, heard.fields))
}

#[test]
fn a_client_asks_for_servers() {
    let [request, response] = fields(
        "/c?build_defs=4&guid32=3735928559",
        "masterserver_flags 1\ncurrent_version 20700 140\naddserver 10.0.0.2\n\
         addserver 2001:db8::2 28790\naddserver 10.0.0.3 28780 -5\n",
    );
    assert_eq!(request, "client_request build_defs=4 guid32=3735928559");
    assert_eq!(
        response,
        "client_response flags=1 version=20700 protocol=140 servers=[{10.0.0.2} {2001:db8::2 port=28790} {10.0.0.3 port=28780 weight=-5}]"
    );
}

/// A wrong request is owed no response, but one in the endpoint's format is checked.
#[test]
fn a_response_to_a_wrong_request_is_checked_if_it_is_one() {
    let codes = |request: &str, response: &str| exchange(request, response).codes();
    let list = "masterserver_flags 8\naddserver 10.0.0.2 65535\nfoo\n";
    assert_eq!(codes("/c?build_defs=300", list), ["ACR005", "ACR012", "ACR014", "ACR015"]);
    assert_eq!(codes("/c?build_defs=300", "build_defs is too large\n"), ["ACR005"]);
    assert_eq!(codes("/r?v=1&p=4294967296", "*f"), ["ACR005", "ACR020"]);
    assert_eq!(codes("/r?v=1&p=4294967296", "the port is too large"), ["ACR005"]);
}

#[test]
fn the_lines_may_be_in_any_order() {
    let [_, response] = fields(
        "/c?build_defs=4",
        "addserver 10.0.0.2\nmasterserver_flags 0\naddserver 10.0.0.3\ncurrent_version 1 2",
    );
    assert_eq!(
        response,
        "client_response servers=[{10.0.0.2} {10.0.0.3}] flags=0 version=1 protocol=2"
    );
    let [_, response] = fields(
        "/c?build_defs=4",
        "masterserver_flags 0\naddserver 10.0.0.2\naddserver 10.0.0.3\ncurrent_version 1 2\n",
    );
    assert_eq!(
        response,
        "client_response flags=0 servers=[{10.0.0.2} {10.0.0.3}] version=1 protocol=2"
    );
}

#[test]
fn a_list_without_servers_is_an_empty_list() {
    let [_, response] = fields("/c?build_defs=4", "masterserver_flags 2\n");
    assert_eq!(response, "client_response flags=2 servers=[]");
}

#[test]
fn a_server_registers() {
    let [request, response] =
        fields("/r?v=140&g=180300&p=28770&guid32=1849449579", "server registered\n");
    assert_eq!(request, "register_request v=140 g=180300 p=28770 guid32=1849449579");
    assert_eq!(response, "register_response text=\"server registered\"");
}

/// The specification's own address, in both its forms, and as URLs may write it.
#[test]
fn a_server_asks_about_a_player() {
    for address in [
        "::ffff:c000:027f",
        "0000:0000:0000:0000:0000:ffff:c000:027f",
        "::ffff:192.0.2.127",
        "%3A%3Affff%3a192.0.2.127",
    ] {
        let lab = exchange(&format!("/a?p=28770&a={address}"), "*a\n");
        let written = address.replace("%3A", ":").replace("%3a", ":");
        assert_eq!(lab.sink.heard[0].fields, format!("p=28770 a={written:?}"));
        assert_eq!(lab.sink.heard[1].fields, "lookup=\"a\"");
        assert_eq!(lab.codes(), ["(ACR035)"; 0], "{address}");
    }
}

#[test]
fn a_challenge_and_the_lookup() {
    let challenge = "0123456789abcdef".repeat(16);
    let [request, response] =
        fields("/a?a=2001:db8::7&i=7&u=J%C3%BCrgen+M", &format!("*c{challenge}\n*bw\n"));
    assert_eq!(request, "auth_request a=\"2001:db8::7\" i=7 u=\"Jürgen M\"");
    assert_eq!(response, format!("auth_response auth='c' challenge={challenge:?} lookup=\"bw\""));
}

#[test]
fn there_is_one_result_of_a_lookup() {
    let lab = exchange("/a?a=::1", "*a\n*bw\n*bi\n");
    assert_eq!(lab.sink.heard[1].fields, "lookup=\"a\"");
    assert_eq!(lab.codes(), ["ACR022"]);
    assert_eq!(lab.details(), ["3 results of a lookup, not one"]);
}

/// Each line is judged by what it stands for.
#[test]
fn an_auth_line_that_is_missing_wrong_or_one_too_many_is_no_lookup() {
    let challenge = format!("*c{}", "0123456789abcdef".repeat(16));
    for (body, codes) in [
        (String::new(), &["ACR021", "ACR022"][..]),
        ("*a\n".into(), &["ACR021"]),
        ("*d\n*a\n".into(), &["ACR021"]),
        (format!("*f\n{challenge}\n*a\n"), &["ACR021"]),
        ("*f\n*bx\n".into(), &["ACR022"]),
    ] {
        assert_eq!(exchange("/a?a=::1&i=7&u=42", &body).codes(), codes, "{body}");
    }
}

#[test]
fn there_is_one_result_of_a_verification() {
    let target = format!("/v?p=28770&i=7&c={}&a={}", "5f".repeat(48), "0a".repeat(32));
    let lab = exchange(&target, "*d\n*sxBob\n");
    assert!(lab.details().contains(&"\"*d\" is not the only line"), "{:?}", lab.details());
}

/// The specification has one response line; an empty one does not count.
#[test]
fn the_result_of_a_verification_is_the_only_line() {
    let target = format!("/v?p=28770&i=7&c={}&a={}", "5f".repeat(48), "0a".repeat(32));
    for (response, failed) in [
        ("*sxBob\n", false),
        ("*sxBob", false),
        ("\n*sxBob\n\n", false),
        ("hello\n*sxBob\n", true),
        ("*sxBob\nhello\n", true),
    ] {
        let lab = exchange(&target, response);
        assert_eq!(lab.counts(&ACR023).failed, u64::from(failed), "{response:?}");
    }
}

#[test]
fn a_player_is_verified() {
    let (nonce, digest) = ("5f".repeat(48), "0a".repeat(32));
    let [request, response] =
        fields(&format!("/ms/v?p=28770&i=7&c={nonce}&a={digest}"), "*s3V\u{ec}ctor\n");
    assert_eq!(request, format!("verify_request p=28770 i=7 c={nonce:?} a={digest:?}"));
    assert_eq!(response, "verify_response result='s' privilege='3' name=\"V\u{ec}ctor\"");
}

#[test]
fn invalid_numbers_and_unknown_lines_are_shown() {
    let [request, _] = fields("/r?v=1.40&p=28770&g=&x=y%20z&v=140", "no");
    assert_eq!(request, "register_request v=\"1.40\" p=28770 g=\"\" x:y z");
}

#[test]
fn parameters_are_separated_and_may_be_absent() {
    for (target, shown) in [
        ("/c?build_defs=4&", "client_request build_defs=4"),
        ("/c?&&build_defs=4&&", "client_request build_defs=4"),
        ("/c?%62uild_defs=4", "client_request build_defs=4"),
        ("/c?build_defs=4&x%20z=y%20z", "client_request build_defs=4 x z:y z"),
        ("/a?a=::1&", "auth_request a=\"::1\""),
    ] {
        assert_eq!(fields(target, "")[0], shown);
    }
}

#[test]
fn responses_are_read_in_the_order_of_the_requests() {
    let mut lab = Lab::new();
    let requests = b"GET /c?build_defs=4 HTTP/1.1\r\n\r\nGET /a?a=::1 HTTP/1.1\r\nHost: m\r\n\r\n";
    lab.tcp(0.0, (S, M), S, requests, LabSegment::default());
    let responses = "HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\nmasterserver_flags 0\n\
                   HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n*b\r\n2\r\nw\n\r\n0\r\n\r\n";
    let (first, rest) = responses.split_at(60);
    lab.tcp(0.1, (M, S), S, first.as_bytes(), LabSegment::default());
    lab.tcp(0.2, (M, S), S, rest.as_bytes(), LabSegment { fin: true });
    lab.end(9.0);
    let heard: Vec<_> =
        lab.sink.heard.iter().map(|heard| format!("{} {}", heard.name, heard.fields)).collect();
    assert_eq!(
        heard,
        [
            "client_request build_defs=4",
            "auth_request a=\"::1\"",
            "client_response flags=0 servers=[]",
            "auth_response lookup=\"bw\"",
        ]
    );
    assert_eq!(lab.codes(), ["(ACR035)"; 0]);
}

#[test]
fn a_response_to_an_unknown_endpoint_is_not_read() {
    let mut lab = Lab::new();
    lab.tcp(0.0, (S, M), S, b"GET /ms/x HTTP/1.1\r\n\r\n", LabSegment::default());
    let response = b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno";
    lab.tcp(0.1, (M, S), S, response, LabSegment { fin: true });
    lab.end(9.0);
    let names: Vec<_> = lab.sink.heard.iter().map(|heard| heard.name).collect();
    assert_eq!(names, ["other_request", "other_response"]);
    assert_eq!(lab.codes(), ["ACR002"]);
}

/// A browser asks for files of the site on the same connection: they are no requests of the protocol.
#[test]
fn pages_of_a_web_site_are_no_endpoints() {
    let codes = |target: &str, agent: &str| {
        let mut lab = Lab::new();
        lab.tcp(0.0, (S, M), S, b"GET /c?build_defs=4 HTTP/1.1\r\n\r\n", LabSegment::default());
        let list = b"HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\nmasterserver_flags 0\n";
        lab.tcp(0.1, (M, S), S, list, LabSegment::default());
        let page = format!("GET {target} HTTP/1.1\r\n{agent}\r\n");
        lab.tcp(0.2, (S, M), S, page.as_bytes(), LabSegment::default());
        let missing = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
        lab.tcp(0.3, (M, S), S, missing, LabSegment { fin: true });
        lab.end(9.0);
        lab.codes()
    };
    for page in ["/favicon.ico", "/", "/style.css?v=2"] {
        assert_eq!(codes(page, ""), ["ACR002"; 0], "{page}");
        assert_eq!(codes(page, "User-Agent: ACR-Client/20700\r\n"), ["ACR002"], "{page}");
    }
    assert_eq!(codes("/s", ""), ["ACR002"]);
}

#[test]
fn head_is_answered_without_a_body() {
    let mut lab = Lab::new();
    lab.tcp(0.0, (S, M), S, b"HEAD /c?build_defs=4 HTTP/1.1\r\n\r\n", LabSegment::default());
    lab.tcp(0.1, (S, M), S, b"GET /c?build_defs=4 HTTP/1.1\r\n\r\n", LabSegment::default());
    let responses = b"HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\n\
                    HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\nmasterserver_flags 0\n";
    lab.tcp(0.2, (M, S), S, responses, LabSegment { fin: true });
    lab.end(9.0);
    assert_eq!(lab.sink.heard[3].fields, "flags=0 servers=[]");
    assert_eq!(lab.codes(), ["ACR001"]);
}

/// The results of a response with these headers and this body, and of a second one after it.
fn with_headers(headers: &str, body: &str) -> (Vec<String>, Vec<String>) {
    let mut lab = Lab::new();
    let request = b"GET /c?build_defs=4 HTTP/1.1\r\n\r\n";
    lab.tcp(0.0, (S, M), S, request, LabSegment::default());
    let response = format!("HTTP/1.1 200 OK\r\n{headers}\r\n\r\n{body}");
    lab.tcp(0.1, (M, S), S, response.as_bytes(), LabSegment::default());
    lab.tcp(0.2, (S, M), S, request, LabSegment::default());
    let second = b"HTTP/1.1 200 OK\r\n\r\nmasterserver_flags 1\n";
    lab.tcp(0.3, (M, S), S, second, LabSegment { fin: true });
    lab.end(9.0);
    let responses = [1, 3].map(|at| lab.sink.heard[at].fields.clone());
    (responses.to_vec(), lab.codes().iter().map(ToString::to_string).collect())
}

#[test]
fn a_faulty_header_does_not_hide_the_response() {
    for header in ["X-Foo: a\r\n b", "X Foo: bar", "X-Foo : bar"] {
        let headers = format!("{header}\r\nContent-Length: 21");
        let (responses, codes) = with_headers(&headers, "masterserver_flags 0\n");
        assert_eq!(responses, ["flags=0 servers=[]", "flags=1 servers=[]"], "{header}");
        assert!(codes.is_empty(), "{header}: {codes:?}");
    }
}

#[test]
fn a_compressed_body_is_not_read() {
    for (header, body) in [
        ("Content-Encoding: gzip\r\nContent-Length: 4", "\x1F\x0D\x0A\x08"),
        ("Transfer-Encoding: gzip, chunked", "5\r\nabcde\r\n0\r\n\r\n"),
    ] {
        let (responses, codes) = with_headers(header, body);
        assert_eq!(responses[1], "flags=1 servers=[]", "{header}");
        assert_eq!(codes, ["ACR011"], "{header}");
    }
}

/// The endpoints' rules are about bodies that can be read. Who accepts a coding can read it.
#[test]
fn a_body_with_a_coding_that_nobody_asked_for_breaks_a_rule() {
    let (ids, address) = (format!("c={}&a={}", "5f".repeat(48), "0a".repeat(32)), "a=::1");
    for (target, rule, accept, failed) in [
        ("/c?build_defs=4".to_owned(), &ACR011, "", true),
        ("/r?v=140&p=28770".to_owned(), &ACR020, "", true),
        (format!("/a?p=28770&{address}"), &ACR022, "", true),
        (format!("/v?p=28770&i=7&{ids}"), &ACR023, "", true),
        ("/c?build_defs=4".to_owned(), &ACR011, "Accept-Encoding: identity, gzip;q=0\r\n", true),
        ("/c?build_defs=4".to_owned(), &ACR011, "accept-encoding: br, gzip;q=0.5\r\n", false),
    ] {
        let mut lab = Lab::new();
        let request = format!("GET {target} HTTP/1.1\r\n{accept}\r\n");
        lab.tcp(0.0, (S, M), S, request.as_bytes(), LabSegment::default());
        let response = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n\x1F\x8B\x08\0";
        lab.tcp(0.1, (M, S), S, response, LabSegment { fin: true });
        lab.end(9.0);
        assert_eq!(lab.counts(rule).failed, u64::from(failed), "{target} {accept}");
        let errors = lab.codes().iter().filter(|it| it.starts_with('A')).count();
        assert_eq!(errors, usize::from(failed), "{:?}", lab.codes());
    }
}

#[test]
fn a_response_that_ends_within_its_headers_is_none() {
    let response = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n";
    for cut in [5, 12, 15, 17, 25, response.len() - 2, response.len()] {
        let mut lab = Lab::new();
        lab.tcp(0.0, (S, M), S, b"GET /c?build_defs=4 HTTP/1.0\r\n\r\n", LabSegment::default());
        lab.tcp(0.1, (M, S), S, &response[..cut], LabSegment { fin: true });
        lab.end(9.0);
        assert_eq!(lab.names(), ["client_request", "client_response"]);
        let is_cut = cut < response.len();
        let found = if is_cut { "ACR035" } else { "ACR011" };
        assert_eq!(lab.codes(), [found], "{cut}");
    }
}

#[test]
fn names_of_parameters_may_be_percent_encoded() {
    let lab = exchange("/%72?%76=140&p=28770", "registered");
    assert_eq!(lab.sink.heard[0].fields, "v=140 p=28770");
    assert_eq!(lab.codes(), ["(ACR034)"]);
}
