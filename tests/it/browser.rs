//! The page of `gamewire report` in a real Chromium.

mod counts;
mod large;
mod overview;
mod silence;

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
    assert_eq!(all, [4, 41, 12], "notes are folded");
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
    assert_eq!([browser.count("[data-rule]"), browser.count("[data-rule='A2S005']")], [2, 2]);
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
    // Landmarks can be told apart, and what is written in a button is what it is called.
    let alike = browser.run(
        "const name = (e) => e.getAttribute('aria-label') ?? document.getElementById(e.getAttribute('aria-labelledby'))?.textContent; \
         const names = [...document.querySelectorAll('section[aria-labelledby], nav, aside, [role=region]')].filter((e) => e.checkVisibility()).map(name); \
         const calls = [...document.querySelectorAll('[role=button][aria-label]')].filter((e) => e.querySelector('text')); \
         return [names.filter((it, at) => names.indexOf(it) !== at), calls.length]",
    );
    assert_eq!(alike, json!([[], 0]));
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
fn long_names_are_cut_and_an_empty_capture_has_no_axis() {
    let project = Project::new("browser-names");
    let name = "A server with a name that is much too long for a table";
    let script = format!(
        "0 c > s FFFFFFFF 54 'Source Engine Query' 00\n\
         0.1 s > c FFFFFFFF 49 11 '{name}' 00 'de_dust2' 00 'csgo' 00 'CS' 00 0000 18 20 02 64 6C 00 01 '1.0' 00"
    );
    project.play("named.pcap", &Setting::udp(27015), &script);
    project.play("empty.pcap", &Setting::udp(9), "0 c > s 'nothing of a game'");
    let files = [project.path("named.pcap"), project.path("empty.pcap")];
    let Some((browser, page)) = opened(&project, &[&files[0], &files[1]]) else { return };
    let cut = browser.run(
        "const cell = [...document.querySelectorAll('#servers td')].find((td) => td.title); \
         return [cell.title, cell.textContent]",
    );
    assert_eq!(cut, json!([name, "A server with a name \u{2026}"]));
    assert_eq!(browser.count("#timeline > svg"), 1);
    browser.open(&page, "#capture=1");
    assert_eq!(browser.count("#timeline-section"), 0);
    assert!(!browser.text("#main").contains("e-9"), "{}", browser.text("#main"));
    is_alone(&browser, &page);
}

#[test]
fn on_a_phone_a_message_can_be_closed() {
    let project = Project::new("browser-phone");
    let Some((browser, page)) = opened(&project, &[QUIRKS]) else { return };
    let size = json!({ "width": 390, "height": 780, "deviceScaleFactor": 1, "mobile": true });
    browser.command("Emulation.setDeviceMetricsOverride", &size);
    browser.open(&page, "#m=3");
    browser.wait("return document.getElementById('message').open");
    let right =
        browser.run("return document.getElementById('close').getBoundingClientRect().right");
    assert!(right.as_f64().unwrap() <= 390.0, "{right}");
    let wide = browser.run("return document.documentElement.scrollWidth");
    assert!(wide.as_f64().unwrap() <= 390.0, "{wide}");
    is_alone(&browser, &page);
}

/// The size of the window; a narrow one is a phone's.
fn resize(browser: &Browser, width: u32) {
    let size =
        json!({ "width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500 });
    browser.command("Emulation.setDeviceMetricsOverride", &size);
}

#[test]
fn at_every_size_light_and_dark_nothing_is_cut_and_all_is_legible() {
    let project = Project::new("browser-sizes");
    project.play("empty.pcap", &Setting::udp(9), "0 c > s 'nothing of a game'");
    let empty = project.path("empty.pcap");
    let files =
        [QUIRKS, "samples/abuse-query-flood.pcap", "samples/silence-unanswered.pcap", &empty];
    let Some((browser, page)) = opened(&project, &files) else { return };
    for scheme in ["light", "dark"] {
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        browser.command("Emulation.setEmulatedMedia", &features);
        for width in [1440, 768, 390] {
            resize(&browser, width);
            for nth in 0..files.len() {
                browser.open(&page, &format!("#capture={nth}"));
                let wide = browser.run("return document.documentElement.scrollWidth");
                assert!(wide.as_u64().unwrap() <= width.into(), "{wide} of {width}, {nth}");
                assert_eq!(browser.run(CONTRAST), json!([]), "{scheme} {width} {nth}");
                let open = browser.run("return document.getElementById('choices').open");
                assert_eq!(open, width > 900, "choices are folded where there is no room");
            }
        }
    }
    is_alone(&browser, &page);
}

#[test]
fn on_a_phone_messages_are_a_list_that_keys_walk_through() {
    let project = Project::new("browser-list");
    let Some((browser, page)) = opened(&project, &[QUIRKS]) else { return };
    resize(&browser, 390);
    browser.open(&page, "");
    assert_eq!([browser.count("#ladder svg"), browser.count(".steps .step")], [0, 41]);
    let second = browser.text(".step[data-frame='2']");
    let parts = ["+20 ms", "#2 challenge_response", "10.0.0.2:27015 \u{2192} 10.0.0.1:50000"];
    assert!(parts.iter().all(|part| second.contains(part)), "{second}");
    browser.run("document.querySelector('.target').focus()");
    browser.press(&[DOWN, DOWN, DOWN, ENTER].concat());
    browser.wait("return document.getElementById('message').open");
    assert_eq!(browser.text("#message-title"), "a2s.info_response");
    is_alone(&browser, &page);
}

#[test]
fn a_ladder_keeps_its_heads_in_sight_and_to_scale_every_arrow() {
    let project = Project::new("browser-ladder");
    let Some((browser, page)) = opened(&project, &["samples/abuse-query-flood.pcap"]) else {
        return;
    };
    let heads = "const [box, heads] = ['#ladder', '#ladder .heads'].map((it) => document.querySelector(it)); \
                 box.scrollTop = 1500; \
                 return [box.scrollTop > 1000, heads.getBoundingClientRect().top - box.getBoundingClientRect().top]";
    assert_eq!(browser.run(heads), json!([true, 0]));
    assert!(browser.text("[data-frame='2']").contains('+'), "the time since the one before");
    browser.run("location.hash = '#spacing=time'");
    browser.wait("return document.querySelector('[name=spacing]:checked').value === 'time'");
    let near = "const tops = [...document.querySelectorAll('.step .line')].map((it) => it.getBBox().y); \
                return [tops.length, Math.min(...tops.slice(1).map((top, nth) => top - tops[nth])) >= 6]";
    assert_eq!(browser.run(near), json!([100, true]));
    is_alone(&browser, &page);
}

#[test]
fn a_choice_does_not_change_what_a_column_means() {
    let project = Project::new("browser-columns");
    let files =
        ["samples/valve-master-registration.pcap", QUIRKS, "samples/diagnose-registration.pcap"];
    let Some((browser, page)) = opened(&project, &files) else { return };
    let rows = "return [...document.querySelectorAll('#servers tbody tr')].map((row) => [...row.children].map((it) => it.textContent))";
    let mut compared = 0;
    for nth in 0..files.len() {
        browser.open(&page, &format!("#capture={nth}"));
        let all = browser.run(rows);
        for row in all.as_array().unwrap() {
            let server = row[0].as_str().unwrap();
            browser.run(&format!("location.hash = '#capture={nth}&party={server}'"));
            browser.wait("return document.getElementById('clear') !== null");
            let chosen = browser.run(rows);
            let own = chosen.as_array().unwrap().iter().find(|it| it[0] == server).unwrap();
            assert_eq!(own, row, "all that is about a server, with nothing else chosen");
            compared += 1;
        }
    }
    assert!(compared > 5, "{compared}");
    is_alone(&browser, &page);
}

#[test]
fn the_search_finds_values_of_fields() {
    let project = Project::new("browser-values");
    let script = "0 c > s FFFFFFFF 55 11223344\n\
                  0.1 s > c FFFFFFFF 44 01 00 'Gordon Freeman' 00 05000000 0000803F\n\
                  1 c > s FFFFFFFF 56 11223344\n\
                  1.1 s > c FFFFFFFF 45 0100 'sv_gravity' 00 '800' 00";
    project.play("values.pcap", &Setting::udp(27015), script);
    let Some((browser, page)) = opened(&project, &[&project.path("values.pcap")]) else { return };
    for (words, frame) in [("freeman gordon", "2"), ("sv_gravity", "4")] {
        browser.open(&page, &format!("#q={words}"));
        let shown = browser
            .run("return [...document.querySelectorAll('.step')].map((it) => it.dataset.frame)");
        assert_eq!(shown, json!([frame]), "{words}");
    }
    is_alone(&browser, &page);
}

#[test]
fn a_printed_page_has_its_marks_and_ends_with_its_footer() {
    let project = Project::new("browser-print");
    let Some((browser, page)) = opened(&project, &[QUIRKS]) else { return };
    browser.command("Emulation.setEmulatedMedia", &json!({ "media": "print" }));
    let marks = "return getComputedStyle(document.querySelector('.mark')).printColorAdjust";
    assert_eq!(browser.run(marks), "exact");
    let below = "const [ladder, footer] = ['#ladder', 'footer'].map((it) => document.querySelector(it).getBoundingClientRect()); \
                 return [footer.top >= ladder.bottom, document.querySelector('#ladder').scrollHeight <= ladder.height + 1]";
    assert_eq!(browser.run(below), json!([true, true]));
    browser.command("Emulation.setEmulatedMedia", &json!({ "media": "" }));
    let pdf = browser.command("Page.printToPDF", &json!({ "printBackground": false }));
    assert!(BASE64.decode(pdf["data"].as_str().unwrap()).unwrap().starts_with(b"%PDF"));
    is_alone(&browser, &page);
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
