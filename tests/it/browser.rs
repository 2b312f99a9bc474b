//! The page of `gamewire report` in a real Chromium.

use std::fmt::Write;
use std::path::Path;

use crate::support::browser::{Browser, DOWN, ENTER, ESCAPE, RIGHT, TAB};
use crate::support::project::Project;
use crate::support::{gamewire, samples};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use captures::exchange::Setting;
use serde_json::{Value, json};

/// A browser with the page of some captures.
fn opened(project: &Project, files: &[&str]) -> Option<(Browser, String)> {
    let browser = Browser::start(Path::new(&project.path("profile")))?;
    let page = project.path("report.html");
    let run = gamewire([&["report", "--no-config", "-o", &page], files].concat());
    assert_eq!(run.code, 0, "{}", run.err);
    browser.open(&page, "");
    Some((browser, page))
}

/// The console is empty, and only the page itself was requested.
fn is_alone(browser: &Browser, page: &str) {
    assert_eq!(browser.console(), [""; 0]);
    let itself = format!("file://{page}");
    let elsewhere = |url: &String| {
        !url.starts_with(&itself) && url != "about:blank" && !url.starts_with("chrome://")
    };
    let asked: Vec<_> = browser.requests().into_iter().filter(elsewhere).collect();
    assert_eq!(asked, [""; 0]);
    assert_eq!(browser.run("return performance.getEntriesByType('resource').length"), 0);
}

const QUIRKS: &str = "samples/a2s-quirks.pcap";

#[test]
fn it_loads_without_messages_and_requests() {
    let project = Project::new("browser-loads");
    let files: Vec<_> = samples().iter().map(|it| it.to_string_lossy().into_owned()).collect();
    let files: Vec<_> = files.iter().map(String::as_str).collect();
    let Some((browser, page)) = opened(&project, &files) else { return };
    is_alone(&browser, &page);
    // Each capture can be selected, and shows its own data.
    for nth in 0..files.len() {
        browser.run(&format!("location.hash = '#capture={nth}'"));
        browser.wait(&format!("return document.getElementById('capture').value === '{nth}'"));
        assert_eq!(browser.count(".verdict"), 1, "{nth}");
        let shown =
            browser.run("return document.querySelector('.verdict:not([hidden])').dataset.capture");
        assert_eq!(shown, nth.to_string());
    }
    is_alone(&browser, &page);
    // The content security policy blocks scripts and requests, and the browser reports it.
    browser.run(
        "const script = document.createElement('script'); script.textContent = 'window.ran = 1'; \
         document.body.append(script); \
         new Image().src = 'http://192.0.2.1/x.png'",
    );
    assert_eq!(browser.run("return window.ran === undefined"), true);
    browser.wait("return true");
    assert!(browser.console().iter().any(|it| it.contains("Content Security Policy")));
}

/// The texts of a column of a table.
fn column(browser: &Browser, table: &str, nth: usize) -> Vec<String> {
    let cells = browser.run(&format!(
        "return [...document.querySelectorAll('#{table} tbody tr')].map((row) => row.children[{nth}].textContent)"
    ));
    cells.as_array().unwrap().iter().map(|it| it.as_str().unwrap().to_owned()).collect()
}

#[test]
fn tables_are_sorted_and_searched() {
    let project = Project::new("browser-tables");
    let Some((browser, page)) = opened(&project, &[QUIRKS]) else { return };
    let asked = 4;
    assert_eq!(
        column(&browser, "servers", 0),
        ["10.0.0.2:27015", "10.0.2.2:27015", "10.0.1.2:27015"]
    );
    browser.click("#sort-servers-server");
    browser.click("#sort-servers-server");
    assert_eq!(
        column(&browser, "servers", 0),
        ["10.0.2.2:27015", "10.0.1.2:27015", "10.0.0.2:27015"]
    );
    let order = "return document.querySelector('#servers th[aria-sort]').getAttribute('aria-sort')";
    assert_eq!(browser.run(order), "descending");
    browser.click("#sort-flows-messages");
    let messages: Vec<u64> =
        column(&browser, "flows", asked + 1).iter().map(|it| it.parse().unwrap()).collect();
    assert!(messages.is_sorted_by(|a, b| a >= b) && messages[0] > messages[11], "{messages:?}");
    // The order is in the address, so a link reproduces it.
    let hash = browser.run("return location.hash");
    assert!(hash.as_str().unwrap().contains("sort=servers%3A-server"), "{hash}");
    browser.open(&page, hash.as_str().unwrap());
    assert_eq!(column(&browser, "servers", 0)[0], "10.0.2.2:27015");
    browser.click("#find-flows");
    browser.press("50009");
    assert_eq!(column(&browser, "flows", 0), ["10"]);
    is_alone(&browser, &page);
}

#[test]
fn choices_narrow_every_part_and_are_in_the_address() {
    let project = Project::new("browser-choices");
    let Some((browser, page)) = opened(&project, &[QUIRKS]) else { return };
    let all =
        [browser.count("[data-rule]"), browser.count(".step"), browser.count("#flows tbody tr")];
    browser.click("[data-value='10.0.1.2:27015']");
    let some =
        [browser.count("[data-rule]"), browser.count(".step"), browser.count("#flows tbody tr")];
    assert_eq!(some, [1, 4, 1], "of {all:?}");
    assert!(all[0] > 10 && all[1] == 41 && all[2] == 12, "{all:?}");
    assert_eq!(column(&browser, "servers", 0), ["10.0.1.2:27015"]);
    assert_eq!(column(&browser, "clients", 0), ["10.0.0.1"]);
    assert!(browser.text("#chosen").starts_with("4 of 41 messages"), "{}", browser.text("#chosen"));
    assert!(browser.text("#times").starts_with("2 responses"), "{}", browser.text("#times"));
    let shown = |browser: &Browser| browser.run("return document.getElementById('main').innerText");
    let (narrowed, hash) = (shown(&browser), browser.run("return location.hash"));
    browser.open(&page, hash.as_str().unwrap());
    assert_eq!(shown(&browser), narrowed, "a link leads to the same place");
    browser.click("#clear");
    assert_eq!(browser.count(".step"), 41);
    browser.run("history.back()");
    browser.wait("return document.querySelectorAll('.step').length === 4");
    browser.click("#clear");
    browser.click("#q");
    browser.press("a2s032");
    assert_eq!([browser.count("[data-rule]"), browser.count(".step")], [2, 1]);
    browser.press(ESCAPE);
    browser.run("document.getElementById('q').value = ''; document.getElementById('q').dispatchEvent(new Event('input'))");
    browser.click("[data-value='A2S005']");
    assert_eq!(browser.count("[data-rule]"), 1);
    is_alone(&browser, &page);
}

#[test]
fn a_span_of_time_is_chosen_with_the_mouse_and_with_keys() {
    let project = Project::new("browser-span");
    let Some((browser, page)) = opened(&project, &[QUIRKS]) else { return };
    browser.drag("#timeline > svg", [0.3, 0.7]);
    let dragged = browser.run("return location.hash");
    let hash = dragged.as_str().unwrap();
    assert!(hash.contains("from=") && hash.contains("to="), "{hash}");
    let some = browser.count(".step");
    assert!((5..35).contains(&some), "{some}");
    assert_eq!(browser.count(".span"), 1);
    browser.click("#whole");
    assert_eq!(browser.count(".step"), 41);
    browser.run("document.getElementById('from').focus()");
    (0..30).for_each(|_| browser.press(RIGHT));
    let fewer = browser.count(".step");
    assert!(fewer < 41, "{fewer}");
    let text = browser.run("return document.getElementById('from').getAttribute('aria-valuetext')");
    assert!(text.as_str().unwrap().starts_with("00:00:0"), "{text}");
    is_alone(&browser, &page);
}

#[test]
fn a_message_opens_and_pointing_marks_both_ways() {
    let project = Project::new("browser-message");
    let Some((browser, page)) = opened(&project, &[QUIRKS]) else { return };
    browser.click(".step[data-frame='4'] .hit");
    browser.wait("return document.getElementById('message').open");
    assert_eq!(browser.text("#message-title"), "a2s.info_response");
    let texts = "return [...document.querySelectorAll('#bytes .hex .here')].map((e) => e.textContent).join(' ')";
    browser.hover("#tree li:nth-child(2) > .row");
    assert_eq!(browser.run(texts), "49", "the message type");
    browser.hover("#bytes .hex [data-at='0']");
    assert_eq!(browser.run(texts), "ff ff ff ff");
    assert!(browser.text("#tree .here").starts_with("Header"), "{}", browser.text("#tree .here"));
    assert_eq!(browser.text("#field"), "Header: bytes 0 to 3");
    let hash = browser.run("return location.hash");
    browser.click("#close");
    assert_eq!(browser.run("return document.getElementById('message').open"), false);
    browser.open(&page, hash.as_str().unwrap());
    assert_eq!(browser.text("#message-title"), "a2s.info_response");
    browser.click("#next");
    assert_eq!(browser.text("#message-title"), "a2s.info_request");
    is_alone(&browser, &page);
}

/// Presses Tab until an element of the selector has the focus.
fn tab_to(browser: &Browser, selector: &str) {
    let is_there = format!("return document.activeElement.matches({selector:?})");
    let arrived = (0..200).any(|_| {
        browser.press(TAB);
        browser.run(&is_there) == true
    });
    assert!(arrived, "Tab never leads to {selector}");
}

#[test]
fn the_page_can_be_used_with_the_keyboard() {
    let project = Project::new("browser-keys");
    let Some((browser, page)) = opened(&project, &[QUIRKS]) else { return };
    tab_to(&browser, ".skip");
    browser.press(ENTER);
    assert_eq!(browser.run("return document.activeElement.id"), "main");
    tab_to(&browser, "#sort-servers-findings");
    browser.press(ENTER);
    assert_eq!(browser.run("return document.activeElement.id"), "sort-servers-findings");
    tab_to(&browser, "#flows th[scope=row] button");
    browser.press(ENTER);
    assert_eq!(browser.count(".step"), 4);
    browser.run("document.getElementById('clear').focus()");
    browser.press(ENTER);
    tab_to(&browser, ".target");
    browser.press(&[DOWN, DOWN, DOWN, ENTER].concat());
    browser.wait("return document.getElementById('message').open");
    assert_eq!(browser.text("#message-title"), "a2s.info_response");
    tab_to(&browser, "#tree [role=treeitem]");
    browser.press(DOWN);
    assert_eq!(browser.text("#field"), "Message type: byte 4");
    tab_to(&browser, ".dump");
    browser.press(RIGHT);
    assert_eq!(browser.text("#field"), "Header: bytes 0 to 3");
    browser.press(ESCAPE);
    browser.wait("return !document.getElementById('message').open");
    let back = "return document.activeElement.closest('.step')?.dataset.frame";
    assert_eq!(browser.run(back), "4", "the keyboard is where it was");
    is_alone(&browser, &page);
}

/// The visible texts whose contrast is too low for WCAG 2, level AA.
const CONTRAST: &str = r"
const numbers = (text) => text.match(/[\d.]+/g).map(Number);
const light = ([r, g, b]) => [r, g, b].map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
  .reduce((sum, c, at) => sum + c * [0.2126, 0.7152, 0.0722][at], 0);
const poor = [];
for (const element of document.querySelectorAll('body *')) {
  const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  if (!own || !element.checkVisibility() || element.closest(':disabled, option, title')) continue;
  const style = getComputedStyle(element);
  let ground = element;
  while (ground.parentElement && numbers(getComputedStyle(ground).backgroundColor)[3] === 0) ground = ground.parentElement;
  const colour = element.closest('svg') ? style.fill : style.color;
  const [a, b] = [light(numbers(colour)), light(numbers(getComputedStyle(ground).backgroundColor))].sort((a, b) => b - a);
  const ratio = (a + 0.05) / (b + 0.05);
  if (ratio < 4.5) poor.push(element.tagName + '.' + element.getAttribute('class') + ' ' + ratio.toFixed(2) + ' ' + element.textContent.slice(0, 20));
}
return poor";

#[test]
fn light_and_dark_have_contrast_and_everything_has_a_name() {
    let project = Project::new("browser-dark");
    let Some((browser, page)) = opened(&project, &[QUIRKS]) else { return };
    let mut papers = Vec::new();
    for scheme in ["light", "dark"] {
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        browser.command("Emulation.setEmulatedMedia", &features);
        for hash in ["", "#rule=A2S005", "#m=3"] {
            browser.open(&page, hash);
            assert_eq!(browser.run(CONTRAST), json!([]), "{scheme} {hash}");
        }
        papers.push(browser.run("return getComputedStyle(document.body).backgroundColor"));
        browser.open(&page, "");
        picture(&browser, scheme);
    }
    assert_ne!(papers[0], papers[1]);
    let nameless = browser.run(
        "return [...document.querySelectorAll('button, input, select, svg[role=img], [role=button], section')] \
         .filter((e) => e.checkVisibility() && !e.textContent.trim() && !e.labels?.length && \
         !e.getAttribute('aria-label') && !e.getAttribute('aria-labelledby')).map((e) => e.outerHTML.slice(0, 80))",
    );
    assert_eq!(nameless, json!([]));
    // Controls are not printed.
    browser.command("Emulation.setEmulatedMedia", &json!({ "media": "print" }));
    assert_eq!(browser.count("input, .facets, #pages button"), 0);
    is_alone(&browser, &page);
}

/// Saves a screenshot, if `GAMEWIRE_PICTURES` names a folder.
fn picture(browser: &Browser, name: &str) {
    if let Some(folder) = std::env::var_os("GAMEWIRE_PICTURES") {
        let size = json!({ "width": 1280, "height": 780, "deviceScaleFactor": 1, "mobile": false });
        browser.command("Emulation.setDeviceMetricsOverride", &size);
        browser.wait("return document.querySelector('#timeline > svg').clientWidth < innerWidth");
        let bytes = BASE64.decode(browser.picture().as_bytes()).unwrap();
        std::fs::write(Path::new(&folder).join(format!("{name}.png")), bytes).unwrap();
        browser.command("Emulation.clearDeviceMetricsOverride", &json!({}));
    }
}

#[test]
fn of_ten_thousand_messages_only_some_are_drawn() {
    let project = Project::new("browser-many");
    let mut script = String::new();
    for nth in 0..5000 {
        let at = f64::from(nth) / 1000.0;
        let (client, answered) = (nth % 10, at + 0.0004);
        writeln!(script, "{at:.4} c{client} > s FFFFFFFF 55 11223344").unwrap();
        writeln!(
            script,
            "{answered:.4} s > c{client} FFFFFFFF 44 01 00 'Player {nth}' 00 05000000 0000803F"
        )
        .unwrap();
    }
    project.play("many.pcap", &Setting::udp(27015), &script);
    let Some((browser, page)) = opened(&project, &[&project.path("many.pcap")]) else { return };
    browser.wait("return performance.getEntriesByName('shown').length === 1");
    assert!(browser.text("#pages").contains("10,000 messages"));
    // The work of the browser is counted, because its time depends on the machine.
    let drawn = || {
        let count = browser.run("return document.getElementsByTagName('*').length");
        assert!(count.as_u64().unwrap() < 5000, "{count} elements");
        count.as_u64().unwrap()
    };
    let all = drawn();
    browser.run("document.querySelector('[data-value=\"yes\"]').click()");
    assert_ne!(drawn(), all, "the choice changes what is drawn");
    is_alone(&browser, &page);
}

#[test]
fn a_page_with_some_of_the_messages_counts_all() {
    let project = Project::new("browser-some");
    let mut script = String::new();
    for nth in 0..6500 {
        let (at, client) = (f64::from(nth) / 1000.0, nth % 10);
        writeln!(script, "{at:.4} c{client} > s FFFFFFFF 55 11223344").unwrap();
        if nth % 10 != 3 {
            let at = at + 0.0004;
            writeln!(script, "{at:.4} s > c{client} FFFFFFFF 44 00").unwrap();
        }
    }
    project.play("some.pcap", &Setting::udp(27015), &script);
    let Some((browser, _)) = opened(&project, &[&project.path("some.pcap")]) else { return };
    let described =
        "return document.querySelector('#timeline svg[role=img]').getAttribute('aria-label')";
    let described = browser.run(described);
    let described = described.as_str().unwrap();
    assert!(described.ends_with(": 12,350 messages, 1 unanswered request"), "{described}");
    let headline = browser.text(".verdict:not([hidden])");
    assert!(headline.contains("5,850 of 5,851 requests were answered"), "{headline}");
}

/// Markup, the end of the data, bidirectional and invisible characters, and bytes that are not UTF-8.
const TEXT: &str = r"</script><script>window.ran=1</script><!--<img src=x onerror=window.ran=1>\xE2\x80\xAEtxt\xE2\x80\x8B\xFF\xC3\x1B[2J&amp;";

#[test]
fn texts_from_the_wire_are_escaped() {
    let project = Project::new("browser-hostile");
    let a2s = format!(
        "0 c > s FFFFFFFF 54 'Source Engine Query' 00\n\
         0.1 s > c FFFFFFFF 49 11 '{TEXT}' 00 '{TEXT}' 00 '{TEXT}' 00 '{TEXT}' 00 B801 18 20 02 64 6C 00 01 '{TEXT}' 00\n\
         1 c > s FFFFFFFF 56 FFFFFFFF\n1.1 s > c FFFFFFFF 45 0100 '{TEXT}' 00 '{TEXT}' 00"
    );
    let name = "<img src=x onerror=1>\u{202E}.pcap";
    project.play("a.pcap", &Setting::udp(27015), &a2s);
    std::fs::rename(project.path("a.pcap"), project.path(name)).unwrap();
    let Some((browser, page)) = opened(&project, &[&project.path(name)]) else { return };
    let messages = browser.count(".step");
    assert_eq!(messages, 4);
    for nth in 0..messages {
        browser.open(&page, &format!("#m={nth}"));
        browser.wait("return document.getElementById('message').open");
        let found = browser.run(
            "const texts = document.body.innerText + [...document.querySelectorAll('[title], [aria-label], title')] \
             .map((e) => e.getAttribute('title') + e.getAttribute('aria-label') + e.textContent).join(); \
             return [window.ran === undefined, document.querySelectorAll('img').length, \
             /[\\u202a-\\u202e\\u200b\\u001b]/.test(texts), \
             document.querySelectorAll('script').length]",
        );
        assert_eq!(found, json!([true, 0, false, 3]), "message {nth}");
    }
    browser.open(&page, "#m=1");
    let shown = browser.text("#tree");
    assert!(shown.contains("</script><script>window.ran=1</script>"), "{shown}");
    assert!(shown.contains("\\u{202E}txt\\u{200B}\u{FFFD}"), "{shown}");
    assert!(
        shown.contains("bytes 3c2f736372697074"),
        "what is no UTF-8 is there as bytes: {shown}"
    );
    // Selections come from the address, which is not trusted.
    browser.open(&page, "#q=%3Cscript%3E&rule=__proto__&sort=servers%3A%3Cb%3E&m=1e9&page=99&capture=7&party=%E2%80%AE");
    assert_eq!(browser.text("#ladder"), "No message is chosen.");
    is_alone(&browser, &page);
    let _: Value = browser.run("return null");
}
