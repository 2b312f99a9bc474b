//! The page that reads captures (`web/`), in a real Chromium: what it shows is what the program writes.

mod access;
mod saves;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::browser::Browser;
use crate::support::project::Project;
use crate::support::{captures, samples, skip, small_recorded_captures};
use captures::exhausting::EXHAUSTING;
use serde_json::{Value, json};

/// Where `.ci/wasm` writes the page.
fn page() -> Option<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/web/gamewire.html");
    if !page.exists() {
        skip::skipped("page", "target/web/gamewire.html is not built (.ci/wasm builds it)");
        return None;
    }
    Some(page.to_string_lossy().into_owned())
}

/// A browser with the page.
fn opened(project: &Project) -> Option<(Browser, String)> {
    let page = page()?;
    let browser = Browser::start(Path::new(&project.path("profile")))?;
    browser.open(&page, "");
    Some((browser, page))
}

/// Does something that the page answers, and waits until it has.
fn after(browser: &Browser, action: impl FnOnce()) {
    browser.run("delete document.body.dataset.done");
    action();
    browser.wait(
        "return 'done' in document.body.dataset && document.getElementById('working').hidden",
    );
}

/// Gives the page captures.
fn give(browser: &Browser, files: &[&Path]) {
    let paths: Vec<_> = files.iter().map(|file| file.to_string_lossy()).collect();
    // A second choice would add to the first.
    browser.run("document.getElementById('files').value = ''");
    after(browser, || browser.attach("#files", &paths.join("\n")));
}

/// Shows the output of a command.
fn show(browser: &Browser, view: &str) {
    after(browser, || {
        browser.run(&format!(
            "[...document.querySelectorAll('#views button')].find((it) => it.textContent === {view:?}).click()"
        ));
    });
}

fn choose_json(browser: &Browser) {
    browser.run("document.getElementById('format').value = 'json'");
}

/// Chooses an option of a list, which the page answers.
fn choose(browser: &Browser, list: &str, option: &str) {
    after(browser, || {
        browser.run(&format!(
            "const list = document.getElementById({list:?}); list.value = {option:?}; \
             list.dispatchEvent(new Event('change', {{ bubbles: true }}))"
        ));
    });
}

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("samples").join(name)
}

/// What the program writes, in the folder of the capture.
fn program(folder: &Path, args: &[&str]) -> String {
    let ran = Command::new(env!("CARGO_BIN_EXE_gamewire"))
        .args(args)
        .current_dir(folder)
        .output()
        .expect("it runs");
    String::from_utf8(ran.stdout).expect("UTF-8")
}

fn message(browser: &Browser) -> String {
    browser.text("#message")
}

/// No request left the page, and its policy held back nothing of its own.
fn is_alone(browser: &Browser, page: &str) {
    assert_eq!(browser.console(), [""; 0]);
    let itself = format!("file://{page}");
    let is_elsewhere = |url: &String| {
        *url != itself
            && url != "about:blank"
            && !url.starts_with("blob:null/")
            && !url.starts_with("chrome://")
    };
    let asked: Vec<_> = browser.requests().into_iter().filter(is_elsewhere).collect();
    assert_eq!(asked, [""; 0]);
}

/// Compares what the page shows of a capture with what the program writes.
fn gives_the_json_of_the_program(browser: &Browser, capture: &Path) {
    let folder = capture.parent().expect("a folder");
    let name = capture.file_name().expect("a name").to_string_lossy().into_owned();
    give(browser, &[capture]);
    for view in ["Check", "Diagnose", "Summary", "Abuse"] {
        show(browser, view);
        let command = view.to_lowercase();
        let is = program(folder, &[&command, "--no-config", "--format", "json", "--", &name]);
        assert!(is.len() > 10, "{name} {view}");
        assert_eq!(browser.text("#output"), is, "{name} {view}: {}", message(browser));
    }
}

#[test]
fn each_sample_gives_the_json_of_the_program() {
    let project = Project::new("web-page-samples");
    let Some((browser, page)) = opened(&project) else { return };
    choose_json(&browser);
    let samples = samples();
    assert!(samples.len() > 25, "{}", samples.len());
    for sample in samples {
        let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join(sample);
        gives_the_json_of_the_program(&browser, &sample);
    }
    is_alone(&browser, &page);
}

#[test]
fn each_recorded_capture_gives_the_json_of_the_program() {
    let project = Project::new("web-page-recorded");
    let Some(captures) = small_recorded_captures() else { return };
    let Some((browser, page)) = opened(&project) else { return };
    choose_json(&browser);
    for capture in captures {
        let capture = capture.canonicalize().expect("it is there");
        gives_the_json_of_the_program(&browser, &capture);
    }
    is_alone(&browser, &page);
}

#[test]
fn the_report_is_the_one_that_the_program_writes() {
    let project = Project::new("web-page-report");
    let Some((browser, page)) = opened(&project) else { return };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples");
    let files = ["a2s-quirks.pcap", "abuse-victim.pcap"];
    give(&browser, &files.map(|name| folder.join(name)).each_ref().map(PathBuf::as_path));
    browser.enter("#report");
    // The frame's script has run: a policy that forbade it would leave its tables empty.
    browser.wait("return document.querySelectorAll('#servers tbody tr').length > 0");
    let shown = browser.run("return document.getElementById('report').textContent");
    let report = project.path("report.html");
    program(&folder, &["report", "--no-config", "-o", &report, files[0], files[1]]);
    let written = std::fs::read_to_string(&report).expect("a report");
    let data = written.split_once("id=\"report\">").expect("data").1;
    let data = data.split_once("</script>").expect("its end").0;
    assert_eq!(shown, Value::from(data));
    is_alone(&browser, &page);
}

#[test]
fn who_has_no_capture_is_shown_a_sample() {
    let project = Project::new("web-page-example");
    let Some((browser, page)) = opened(&project) else { return };
    after(&browser, || browser.click("#example"));
    show(&browser, "Diagnose");
    let name = "diagnose-path-faults.pcap";
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples");
    let written = program(&folder, &["diagnose", "--no-config", name]);
    assert!(written.contains("27015"), "{written}");
    let shown = browser.text("#output").replace("sample.pcap.gz", name);
    assert_eq!(shown.trim(), written.trim());
    is_alone(&browser, &page);
}

#[test]
fn several_captures_are_merged_and_messages_are_filtered() {
    let project = Project::new("web-page-merged");
    let Some((browser, _)) = opened(&project) else { return };
    choose_json(&browser);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples");
    let files = ["a2s-quirks.pcap", "gamespy4-ut3.pcap"];
    give(&browser, &files.map(|name| folder.join(name)).each_ref().map(PathBuf::as_path));
    show(&browser, "Summary");
    let apart = ["summary", "--no-config", "--format", "json", "--", files[0], files[1]];
    assert_eq!(browser.text("#output"), program(&folder, &apart));
    after(&browser, || browser.click("#merge"));
    let merged =
        ["summary", "--no-config", "--format", "json", "--merge", "--", files[0], files[1]];
    assert_eq!(browser.text("#output"), program(&folder, &merged));
    browser.click("#filter");
    browser.press("a2s");
    after(&browser, || browser.click("#again"));
    let filtered = [&merged[..4], &["-Y", "a2s"], &merged[4..]].concat();
    assert_eq!(browser.text("#output"), program(&folder, &filtered));
    browser.press("");
    browser.run("document.getElementById('filter').value = 'a2s and'");
    after(&browser, || browser.click("#again"));
    assert!(message(&browser).contains("a2s and"), "{}", message(&browser));
}

#[test]
fn a_compressed_capture_is_read() {
    let project = Project::new("web-page-gzip");
    let Some((browser, _)) = opened(&project) else { return };
    choose_json(&browser);
    let sample = sample("a2s-quirks.pcap");
    let packed = Command::new("gzip").arg("-c").arg(&sample).output().expect("gzip");
    let capture = project.path("packed.pcap.gz");
    std::fs::write(&capture, packed.stdout).expect("a file");
    give(&browser, &[Path::new(&capture)]);
    show(&browser, "Check");
    let folder = Path::new(&capture).parent().expect("a folder");
    let args = ["check", "--no-config", "--format", "json", "packed.pcap.gz"];
    assert_eq!(browser.text("#output"), program(folder, &args));
}

#[test]
fn what_is_no_capture_ends_in_a_message_and_the_page_goes_on() {
    let project = Project::new("web-page-hostile");
    let Some((browser, page)) = opened(&project) else { return };
    let sample = sample("a2s-quirks.pcap");
    let whole = std::fs::read(&sample).expect("a sample");
    for (name, bytes) in [
        ("empty.pcap", Vec::new()),
        ("-x", b"<script>document.title = 'taken over'</script>".to_vec()),
        ("cut.pcap", whole[..20].to_vec()),
        ("noise.pcapng", [b"\n\r\r\n".to_vec(), vec![0xFF; 4096]].concat()),
    ] {
        let file = project.path(name);
        std::fs::write(&file, bytes).expect("a file");
        give(&browser, &[Path::new(&file)]);
        let said = message(&browser);
        assert!(said.contains(name), "{name}: {said:?}");
        assert_eq!(browser.count("#message"), 1, "{name}");
    }
    // Any byte may be damaged.
    for at in (24..whole.len()).step_by(977) {
        let mut damaged = whole.clone();
        damaged[at..].iter_mut().take(64).for_each(|byte| *byte ^= 0xA5);
        let file = project.path("damaged.pcap");
        std::fs::write(&file, damaged).expect("a file");
        give(&browser, &[Path::new(&file)]);
        let said = message(&browser);
        assert!(!said.contains("stopped"), "{at}: {said}");
    }
    give(&browser, &[&sample]);
    assert_eq!(browser.count("#report"), 1, "{}", message(&browser));
    is_alone(&browser, &page);
}

#[test]
fn captures_made_to_exhaust_it_leave_a_page_that_works() {
    let project = Project::new("web-page-exhausting");
    let Some((browser, page)) = opened(&project) else { return };
    let file = project.path("exhausting.pcap");
    let mut of_few_bytes = 0;
    for (what, make) in EXHAUSTING {
        let bytes = make();
        if bytes.len() > 10_000_000 {
            continue;
        }
        of_few_bytes += 1;
        std::fs::write(&file, bytes).expect("a file");
        give(&browser, &[Path::new(&file)]);
        assert!(!message(&browser).contains("stopped"), "{what}: {}", message(&browser));
    }
    assert!(of_few_bytes >= 3, "{of_few_bytes}");
    for capture in captures("../hostile").unwrap_or_default() {
        give(&browser, &[&capture.canonicalize().expect("it is there")]);
        assert!(!message(&browser).contains("stopped"), "{capture:?}: {}", message(&browser));
    }
    give(&browser, &[&sample("a2s-quirks.pcap")]);
    assert_eq!(browser.count("#report"), 1, "{}", message(&browser));
    is_alone(&browser, &page);
}

#[test]
fn the_limit_is_said_before_reading() {
    let project = Project::new("web-page-limit");
    let Some((browser, _)) = opened(&project) else { return };
    assert!(browser.text("#drop").contains("200 MB"));
    let file = project.path("large.pcap");
    std::fs::File::create(&file).and_then(|file| file.set_len(200_000_001)).expect("a file");
    browser.attach("#files", &file);
    browser.wait("return !document.getElementById('message').hidden");
    assert!(message(&browser).contains("201 MB"), "{}", message(&browser));
    assert_eq!(browser.count("#working"), 0);
}

#[test]
fn a_trap_ends_in_a_message_and_a_new_worker() {
    let project = Project::new("web-page-trap");
    let Some((browser, _)) = opened(&project) else { return };
    let sample = sample("a2s-quirks.pcap");
    // What a trap looks like to the page: the next answer of the worker is that it failed.
    browser.run(
        "const post = Worker.prototype.postMessage; Worker.prototype.postMessage = function (request) { \
         if (request.kind !== 'run') return post.call(this, request); Worker.prototype.postMessage = post; \
         this.onmessage({ data: { kind: 'failed', id: request.id, why: 'unreachable' } }); }",
    );
    give(&browser, &[&sample]);
    assert!(message(&browser).contains("gamewire stopped: unreachable"), "{}", message(&browser));
    browser.run("document.getElementById('results').hidden = false");
    show(&browser, "Summary");
    assert!(browser.text("#output").contains("10.0.0.2:27015"));
    assert_eq!(browser.count("#message"), 0);
}

#[test]
fn a_cancelled_command_leaves_a_page_that_works() {
    let project = Project::new("web-page-cancel");
    let Some((browser, _)) = opened(&project) else { return };
    let sample = sample("a2s-quirks.pcap");
    give(&browser, &[&sample]);
    // In one script, so that the command cannot end before.
    browser.run(
        "[...document.querySelectorAll('#views button')].at(-1).click(); document.getElementById('cancel').click()",
    );
    browser.wait("return document.getElementById('message').textContent.startsWith('Cancelled')");
    assert_eq!(browser.count("#working"), 0);
    show(&browser, "Summary");
    assert!(browser.text("#output").contains("10.0.0.2:27015"));
}

#[test]
fn going_back_to_a_view_does_not_read_again() {
    let project = Project::new("web-page-kept");
    let Some((browser, _)) = opened(&project) else { return };
    browser.run(
        "window.runs = 0; const post = Worker.prototype.postMessage; \
         Worker.prototype.postMessage = function (request) { \
         if (request.kind === 'run') window.runs++; return post.call(this, request); }",
    );
    give(&browser, &[&sample("a2s-quirks.pcap")]);
    show(&browser, "Summary");
    let before = browser.text("#output");
    show(&browser, "Flows");
    show(&browser, "Summary");
    assert_eq!(browser.text("#output"), before);
    assert_eq!(browser.run("return window.runs"), 3, "the report, too");
    // Other captures have other outputs, also under the same name.
    let other = project.path("a2s-quirks.pcap");
    std::fs::copy(sample("gamespy4-ut3.pcap"), &other).expect("a file");
    give(&browser, &[Path::new(&other)]);
    assert!(browser.text("#output").contains("gamespy4"), "{}", browser.text("#output"));
    assert_eq!(browser.run("return window.runs"), 4);
}

#[test]
fn it_fits_a_narrow_dark_screen() {
    let project = Project::new("web-page-narrow");
    let Some((browser, _)) = opened(&project) else { return };
    let screen = json!({ "width": 390, "height": 840, "deviceScaleFactor": 1, "mobile": true });
    browser.command("Emulation.setDeviceMetricsOverride", &screen);
    let dark = json!([{ "name": "prefers-color-scheme", "value": "dark" }]);
    browser.command("Emulation.setEmulatedMedia", &json!({ "features": dark }));
    let sample = sample("a2s-quirks.pcap");
    give(&browser, &[&sample]);
    for view in ["Summary", "Report"] {
        show(&browser, view);
        assert_eq!(browser.run("return document.documentElement.scrollWidth"), 390, "{view}");
    }
    let ground = browser.run("return getComputedStyle(document.body).backgroundColor");
    assert_eq!(ground, "rgb(19, 22, 27)");
}
