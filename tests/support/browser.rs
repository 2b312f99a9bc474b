//! Controls a browser over the WebDriver protocol; without one, tests are skipped.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use super::skip;

/// Turns off features that are unrelated to the page: first start, updates, accounts.
const QUIET: [&str; 9] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1440,1000",
];

/// The JSON key of an element in WebDriver.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// Codes of keys in WebDriver.
pub(crate) const TAB: &str = "\u{E004}";
pub(crate) const ENTER: &str = "\u{E007}";
pub(crate) const ESCAPE: &str = "\u{E00C}";
pub(crate) const DOWN: &str = "\u{E015}";
pub(crate) const RIGHT: &str = "\u{E014}";

/// A browser with one window, which is closed on drop.
pub(crate) struct Browser {
    driver: Child,
    agent: ureq::Agent,
    session: String,
}

impl Browser {
    /// Starts a browser with its profile in this folder.
    pub(crate) fn start(profile: &Path) -> Option<Browser> {
        let started = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let Ok(mut driver) = started else {
            skip::skipped("browser", "chromedriver is not installed");
            return None;
        };
        let said = BufReader::new(driver.stdout.take().expect("it has an output")).lines();
        let port = said.map_while(Result::ok).find_map(|line| {
            let (_, port) = line.split_once("successfully on port ")?;
            port.trim_end_matches('.').parse::<u16>().ok()
        });
        let port = port.expect("chromedriver says its port");
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_secs(60)))
            .proxy(None)
            .build()
            .into();
        let mut browser =
            Browser { driver, agent, session: format!("http://127.0.0.1:{port}/session") };
        let profile = format!("--user-data-dir={}", profile.display());
        let arguments: Vec<_> = QUIET.iter().copied().chain([&*profile]).collect();
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "browserName": "chrome",
            "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
            "goog:chromeOptions": { "args": arguments },
        } } });
        let session = browser.post("", &wanted);
        let id = session["sessionId"].as_str().expect("a session");
        browser.session = format!("{}/{id}", browser.session);
        // The start page makes many requests to the browser itself.
        browser.post("/url", &json!({ "url": "about:blank" }));
        browser.requests();
        Some(browser)
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        let sent = self
            .agent
            .post(format!("{}{path}", self.session))
            .content_type("application/json")
            .send(body.to_string());
        let mut answer = sent.expect("chromedriver answers");
        let text = answer.body_mut().with_config().limit(1 << 28).read_to_string();
        let mut answer: Value = serde_json::from_str(&text.expect("text")).expect("JSON");
        let value = answer["value"].take();
        assert!(value.get("error").is_none(), "{path}: {value}");
        value
    }

    /// Opens a local file.
    pub(crate) fn open(&self, file: &str, hash: &str) {
        // The same page with another hash would not be reloaded.
        self.post("/url", &json!({ "url": "about:blank" }));
        self.post("/url", &json!({ "url": format!("file://{file}{hash}") }));
        // The driver may return earlier on a busy machine, when no script of the page has run.
        self.wait("return location.protocol === 'file:' && document.readyState === 'complete'");
    }

    /// The result of a function with this body.
    pub(crate) fn run(&self, script: &str) -> Value {
        self.post("/execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// The text of the first element of a selector.
    pub(crate) fn text(&self, selector: &str) -> String {
        let found = self.run(&format!("return document.querySelector({selector:?}).textContent"));
        found.as_str().expect("a text").to_owned()
    }

    /// The number of visible elements of a selector.
    pub(crate) fn count(&self, selector: &str) -> u64 {
        let count = self.run(&format!(
            "return [...document.querySelectorAll({selector:?})].filter((e) => e.checkVisibility()).length"
        ));
        count.as_u64().expect("a number")
    }

    /// Clicks on the first element of a selector.
    pub(crate) fn click(&self, selector: &str) {
        let id = self.element(selector);
        self.post(&format!("/element/{id}/click"), &json!({}));
    }

    /// Chooses files, one path a line, in the first element of a selector.
    pub(crate) fn attach(&self, selector: &str, paths: &str) {
        let id = self.element(selector);
        self.post(&format!("/element/{id}/value"), &json!({ "text": paths }));
    }

    /// Runs the following scripts in a frame.
    pub(crate) fn enter(&self, frame: &str) {
        let id = self.element(frame);
        self.post("/frame", &json!({ "id": { ELEMENT: id } }));
    }

    /// Runs the following scripts in the page again.
    pub(crate) fn leave(&self) {
        self.post("/frame", &json!({ "id": null }));
    }

    /// Lets the page save files in a folder.
    pub(crate) fn save_to(&self, folder: &str) {
        let parameters = json!({ "behavior": "allow", "downloadPath": folder });
        self.command("Page.setDownloadBehavior", &parameters);
    }

    fn element(&self, selector: &str) -> String {
        let found = self.post("/element", &json!({ "using": "css selector", "value": selector }));
        found[ELEMENT].as_str().expect("an element").to_owned()
    }

    /// Moves the mouse to the first element of a selector.
    pub(crate) fn hover(&self, selector: &str) {
        let id = self.element(selector);
        self.run(&format!(
            "document.querySelector({selector:?}).scrollIntoView({{ block: \"center\" }})"
        ));
        self.mouse(&[json!({
            "type": "pointerMove", "duration": 0, "origin": { ELEMENT: id }, "x": 0, "y": 0,
        })]);
    }

    /// Drags the mouse across an element, from one share of its width to another.
    pub(crate) fn drag(&self, selector: &str, [from, to]: [f64; 2]) {
        let id = self.element(selector);
        self.run(&format!("document.querySelector({selector:?}).scrollIntoView()"));
        let width = self
            .run(&format!(
                "return document.querySelector({selector:?}).getBoundingClientRect().width"
            ))
            .as_f64()
            .expect("a width");
        // Positions are relative to the centre.
        let to_place = |share: f64| {
            let x = ((share - 0.5) * width) as i64;
            json!({ "type": "pointerMove", "duration": 50, "origin": { ELEMENT: id }, "x": x, "y": 0 })
        };
        let down = json!({ "type": "pointerDown", "button": 0 });
        let up = json!({ "type": "pointerUp", "button": 0 });
        self.mouse(&[to_place(from), down, to_place(f64::midpoint(from, to)), to_place(to), up]);
    }

    fn mouse(&self, actions: &[Value]) {
        let mouse = json!({ "type": "pointer", "id": "mouse", "actions": actions });
        self.post("/actions", &json!({ "actions": [mouse] }));
    }

    /// Presses keys one after the other in the focused element.
    pub(crate) fn press(&self, keys: &str) {
        let each = keys.chars().flat_map(|key| {
            ["keyDown", "keyUp"].map(|what| json!({ "type": what, "value": key.to_string() }))
        });
        let keyboard = json!({ "type": "key", "id": "keys", "actions": each.collect::<Vec<_>>() });
        self.post("/actions", &json!({ "actions": [keyboard] }));
    }

    /// Runs a command of the DevTools protocol.
    pub(crate) fn command(&self, command: &str, parameters: &Value) -> Value {
        self.post("/goog/cdp/execute", &json!({ "cmd": command, "params": parameters }))
    }

    /// Messages of the console since the last call.
    pub(crate) fn console(&self) -> Vec<String> {
        self.log("browser").iter().map(|entry| entry["message"].to_string()).collect()
    }

    /// Requested addresses since the last call.
    pub(crate) fn requests(&self) -> Vec<String> {
        let entries = self.log("performance");
        let events = entries.iter().filter_map(|entry| entry["message"].as_str());
        let events = events.map(|text| serde_json::from_str::<Value>(text).expect("JSON"));
        let sent = events.filter(|it| it["message"]["method"] == "Network.requestWillBeSent");
        sent.map(|it| it["message"]["params"]["request"]["url"].as_str().unwrap_or("?").to_owned())
            .collect()
    }

    fn log(&self, kind: &str) -> Vec<Value> {
        self.post("/se/log", &json!({ "type": kind })).as_array().expect("a list").clone()
    }

    /// A screenshot of the window as PNG in Base64.
    pub(crate) fn picture(&self) -> String {
        let taken = self.command("Page.captureScreenshot", &json!({ "format": "png" }));
        taken["data"].as_str().expect("a picture").to_owned()
    }

    /// Waits until a script returns true.
    pub(crate) fn wait(&self, script: &str) {
        // A busy machine may take a minute.
        let is_true = (0..3000).any(|nth| {
            if nth > 0 {
                std::thread::sleep(Duration::from_millis(20));
            }
            self.run(script) == true
        });
        assert!(is_true, "never true: {script}");
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Errors are ignored: the driver is ended anyway.
        let _ = self.agent.delete(&self.session).call();
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
