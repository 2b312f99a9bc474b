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
    if (by("q").value !== state.q) by("q").value = state.q;
    showFacets(now);
    showTimeline(now);
    showTables(now, messages);
    showTimes(now, messages);
    showFindings(now, messages);
    showLadder(now, messages);
    tell(now, messages);
  }
  showMessage(now);
}

// The shares of messages that are selected and embedded.
function tell(now, messages) {
  const { sample } = now;
  const sum = (of) => of.reduce((all, m) => all + (m.icmp ? 0 : m.weight), 0);
  by("chosen").textContent = isNarrowed()
    ? `${grouped(sum(messages))} of ${counted(sum(sample.messages), "message")} chosen: every part of the page is about these.`
    : "";
  const held = sample.messages.filter((m) => !m.icmp).length;
  by("sampled").hidden = held >= sample.seen;
  const out = now.check.findings.filter((f) => f.frames.length && !f.of).length;
  const all = out ? `all but ${grouped(out)} of those that findings are about` : "all that findings are about";
  by("sampled").textContent = `This page holds ${grouped(held)} of ${counted(sample.seen, "message")}: ${all}, and others by chance. ` +
    "Charts, and numbers of chosen messages, are estimated from these; tables without a choice are of all.";
}

function listen() {
  by("search").addEventListener("submit", (event) => event.preventDefault());
  by("q").addEventListener("input", (event) => change({ q: event.target.value }, { keep: true }));
  by("from").addEventListener("input", slid);
  by("to").addEventListener("input", slid);
  by("whole").addEventListener("click", () => change({ from: undefined, to: undefined }));
  by("capture")?.addEventListener("change", (event) => {
    // Filters of one capture are meaningless in another one.
    for (const set of SETS) state[set] = [];
    change({ capture: Number(event.target.value), q: "", from: undefined, to: undefined, m: undefined });
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
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    [width, drawn] = [innerWidth, undefined];
    show();
  });
}

read();
listen();
show();
performance.mark("shown");
