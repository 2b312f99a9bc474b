// The complete page.

const capture = () => prepared(state.capture);

const prepared = (nth) => (captures[nth].byFrame ? captures[nth] : prepare(captures[nth], nth));

// The charts of the selected messages, which are redrawn only if the selection changes.
let drawn;

function show() {
  const now = capture();
  const key = JSON.stringify({ ...state, m: undefined });
  if (key !== drawn) {
    drawn = key;
    const messages = chosen(now);
    document.querySelectorAll("[data-capture]").forEach((it) => { it.hidden = Number(it.getAttribute("data-capture")) !== now.nth; });
    if (by("capture")) by("capture").value = now.nth;
    document.querySelectorAll("[data-of]").forEach((row) => fill(row, { "aria-current": String(Number(row.getAttribute("data-of")) === now.nth) }, []));
    if (by("q").value !== state.q) by("q").value = state.q;
    tell(now, messages);
    showParts(now, messages);
  }
  showMessage(now);
}

// The parts of the page, by the elements that they are in.
const PARTS = [
  ["facets", showFacets], ["findings-section", showFindings], ["timeline-section", showTimeline], ["servers-section", showServers],
  ["masters-section", showMasters], ["clients-section", showClients], ["times-section", showTimes], ["flows-section", showFlows],
  ["ladder-section", showLadder],
];

// A page with more messages is drawn anew only when typing pauses for so many milliseconds, and at first what is in sight.
const MANY = 2000, PAUSE = 20;

const isLarge = (of) => of.sample.messages.length > MANY;
const whenIdle = (work) => (window.requestIdleCallback ? requestIdleCallback(work, { timeout: 300 }) : setTimeout(work, 30));

// What is still to be drawn, one after the other.
let undrawn = [];

function showParts(now, messages) {
  const isFirst = !now.isShown;
  now.isShown = true;
  document.body.classList.toggle("large", isLarge(now));
  // Places are asked for before anything changes them.
  const isNext = ([id]) => isFirst || !isLarge(now) || isInSight(by(id));
  const next = PARTS.map(isNext);
  if (isFirst) [widths, insets].forEach((it) => it.clear());
  else measure();
  undrawn = PARTS.filter((_, nth) => !next[nth]).map(([, draw]) => () => draw(now, messages));
  PARTS.forEach(([, draw], nth) => next[nth] && draw(now, messages));
  if (undrawn.length) whenIdle(goOn);
  if (isFirst && isLarge(now)) whenIdle(prepareForTyping);
}

// What the first letter would otherwise wait for: sections out of sight are laid out to be measured.
function prepareForTyping() {
  measure();
  indexAhead(capture(), 0);
}

// Whether an element, or the focus in it, can be seen.
function isInSight(element) {
  const { top, bottom } = element.getBoundingClientRect();
  return (bottom > top && bottom > 0 && top < innerHeight) || element.contains(document.activeElement);
}

function goOn() {
  undrawn.shift()?.();
  if (undrawn.length) whenIdle(goOn);
}

// Prepares the search, so that the first letter need not.
function indexAhead(now, from) {
  const { messages } = now.sample, to = from + 500;
  messages.slice(from, to).forEach((m) => values(now, m));
  if (to < messages.length) whenIdle(() => indexAhead(now, to));
}

// The shares of messages that are selected and embedded.
function tell(now, messages) {
  const { sample } = now;
  by("chosen").textContent = isNarrowed()
    ? `${about(now)}${grouped(sumOf(messages))} of ${counted(sample.seen, "message")} chosen: every part of the page is about these.`
    : "";
  by("sampled").hidden = !now.isSampled;
  const out = now.check.findings.filter((f) => f.frames.length && !f.of).length;
  const all = out ? `all but ${grouped(out)} of those that findings are about` : "all that findings are about";
  by("sampled").textContent = `This page holds ${grouped(now.held)} of ${counted(sample.seen, "message")}: ${all}, and others by chance. ` +
    "Charts, and numbers of chosen messages, are estimated from these; tables without a choice are of all.";
}

// Shows another capture. Filters of one capture are meaningless in another one.
function select(nth) {
  for (const set of SETS) state[set] = [];
  change({ capture: nth, q: "", from: undefined, to: undefined, m: undefined });
}

let waiting;

function typed_in(q) {
  clearTimeout(waiting);
  const apply = () => change({ q }, { keep: true });
  if (!isLarge(capture())) apply();
  else waiting = setTimeout(apply, PAUSE);
}

function listen() {
  by("search").addEventListener("submit", (event) => event.preventDefault());
  by("q").addEventListener("input", (event) => typed_in(event.target.value));
  by("from").addEventListener("input", slid);
  by("to").addEventListener("input", slid);
  by("whole").addEventListener("click", () => change({ from: undefined, to: undefined }));
  by("capture")?.addEventListener("change", (event) => select(Number(event.target.value)));
  by("overview")?.addEventListener("click", (event) => {
    const row = event.target.closest("[data-of]");
    if (!row) return;
    event.preventDefault();
    select(Number(row.getAttribute("data-of")));
  });
  for (const input of document.getElementsByName("spacing")) input.addEventListener("change", () => change({ spacing: input.value }));
  document.querySelector("[data-skip]").addEventListener("click", (event) => {
    event.preventDefault();
    by("main").focus();
  });
  by("close").addEventListener("click", () => by("message").close());
  by("message").addEventListener("close", () => {
    if (state.m === undefined) return;
    const last = capture().sample.messages[state.m];
    change({ m: undefined });
    const nth = onPage.indexOf(last);
    if (nth >= 0) focusArrow(nth);
  });
  const beside = (way) => () => {
    const messages = chosen(capture()).filter((m) => !m.icmp);
    const next = messages[messages.findIndex((m) => m.index === state.m) + way];
    if (next) change({ m: next.index }, { keep: true });
  };
  by("previous").addEventListener("click", beside(-1));
  by("next").addEventListener("click", beside(1));
  const again = () => { read(); show(); };
  addEventListener("popstate", again);
  addEventListener("hashchange", again);
  addEventListener("beforeprint", () => undrawn.splice(0).forEach((draw) => draw()));
  let width = innerWidth;
  let narrow = isNarrow();
  by("choices").open = !narrow;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    if (narrow !== isNarrow()) {
      narrow = !narrow;
      by("choices").open = !narrow;
    }
    [width, drawn] = [innerWidth, undefined];
    insets.clear();
    show();
  });
}

read();
listen();
show();
performance.mark("shown");
