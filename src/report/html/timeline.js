// Messages per second over time, stacked by protocol; also selects a range of time.

const HEIGHT = 190, TOP = 34, BOTTOM = 22, LEFT = 52, BARS = 120;

// Widths of a bar, in seconds.
const STEPS = [1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300, 600, 1800, 3600, 7200, 21600, 86400, 604800];

// The next round number that is not smaller.
function rounded(number) {
  const power = 10 ** Math.floor(Math.log10(number || 1));
  return [1, 2, 5, 10].map((n) => n * power).find((n) => n >= number);
}

// Converts times to positions in the chart, and back.
function scale(capture) {
  const width = widthOf("timeline") - LEFT - 8;
  const long = Math.max(capture.ends[1] - capture.ends[0], 1e-3);
  const step = STEPS.find((step) => long / step <= BARS) || long / BARS;
  const first = Math.floor(capture.ends[0] / step) * step;
  const count = Math.floor((capture.ends[1] - first) / step) + 1;
  return {
    step, first, count, width,
    x: (at) => LEFT + ((at - first) / (count * step)) * width,
    at: (x) => first + (Math.min(Math.max(x - LEFT, 0), width) / width) * count * step,
  };
}

function showTimeline(capture, narrowed) {
  // Without messages, there is neither a time nor a rate.
  by("timeline-section").hidden = !capture.sample.messages.length;
  if (!capture.sample.messages.length) return;
  const on = scale(capture);
  const all = state.from === undefined && state.to === undefined ? narrowed : chosen(capture, "time");
  const messages = all.filter((m) => !m.icmp);
  const protocols = [...new Set(messages.map((m) => m.protocol))].sort();
  const bars = Array.from({ length: on.count }, () => ({}));
  for (const m of messages) {
    const bar = bars[Math.min(Math.floor((m.at - on.first) / on.step), on.count - 1)];
    bar[m.protocol] = (bar[m.protocol] || 0) + m.weight / on.step;
  }
  const most = rounded(Math.max(1e-9, ...bars.map((bar) => Object.values(bar).reduce((a, b) => a + b, 0))));
  const y = (rate) => HEIGHT - BOTTOM - (rate / most) * (HEIGHT - BOTTOM - TOP);
  const svg = draw("svg", { width: on.width + LEFT + 8, height: HEIGHT, viewBox: `0 0 ${on.width + LEFT + 8} ${HEIGHT}`, role: "img", tabindex: -1, "aria-label": described(capture, messages) });
  for (const share of [0, 0.5, 1]) {
    const at = Math.round(y(share * most)) + 0.5;
    svg.append(draw("line", { class: "grid", x1: LEFT, x2: LEFT + on.width, y1: at, y2: at }),
      draw("text", { class: "axis end", x: LEFT - 6, y: at + 4 }, share ? +(share * most).toPrecision(3) + "/s" : "0"));
  }
  bars.forEach((bar, nth) => {
    let below = 0;
    for (const protocol of protocols) {
      if (!bar[protocol]) continue;
      const [low, high] = [y(below), y((below += bar[protocol]))];
      const x = on.x(on.first + nth * on.step);
      svg.append(draw("rect", { class: colour(protocol), x: x + 0.5, width: Math.max(on.width / on.count - 1, 1),
        y: high, height: Math.max(low - high, 0.5) },
      draw("title", {}, `${clock(capture, on.first + nth * on.step, on.step < 1 ? 3 : 0)}: ${protocol} ${+bar[protocol].toPrecision(3)} messages a second`)));
    }
  });
  marks(svg, on, messages);
  axis(svg, on, capture);
  choose(svg, on, capture);
  put("timeline", svg, make("p", { class: "legend" }, protocols.map((protocol) => make("span", { class: "key" },
    draw("svg", { width: 12, height: 12, "aria-hidden": true }, draw("rect", { class: colour(protocol), width: 12, height: 12 })), " " + protocol))));
  sliders(on, capture);
}

// Findings and requests without a response, once for each bar.
function marks(svg, on, messages) {
  const found = new Map(), unanswered = new Set();
  for (const m of messages) {
    const nth = Math.floor((m.at - on.first) / on.step);
    for (const f of m.findings) if (!isOpen(f)) collect(found, nth, f.severity);
    if (m.answered === false) unanswered.add(nth);
  }
  const middle = (nth) => on.x(on.first + (nth + 0.5) * on.step);
  for (const [nth, severities] of found) {
    const worst = ["error", "warning", "note"].find((it) => severities.includes(it));
    svg.append(draw("path", { class: "finding " + worst, d: `M${middle(nth)} 20l5 9h-10z` },
      draw("title", {}, counted(severities.length, "finding") + ", the worst: " + worst)));
  }
  for (const nth of unanswered) {
    svg.append(draw("circle", { class: "unanswered", cx: middle(nth), cy: 10, r: 4 }, draw("title", {}, "unanswered requests")));
  }
}

function axis(svg, on, capture) {
  const labels = Math.max(Math.min(Math.floor(on.width / 130), on.count), 1);
  for (let nth = 0; nth <= labels; nth += 1) {
    const at = on.first + (nth / labels) * on.count * on.step;
    const place = nth === 0 ? "" : nth === labels ? " end" : " middle";
    svg.append(draw("text", { class: "axis" + place, x: on.x(at), y: HEIGHT - 6 }, clock(capture, at, on.step < 0.1 ? 3 : on.step < 1 ? 1 : 0)));
  }
}

function described(capture, messages) {
  const [first, last] = capture.ends;
  const asked = capture.summary.protocols.reduce((all, row) => all + row.exchanges - row.answered, 0);
  // Without filters the numbers are those of the tables: the page may have only some of the messages.
  const [count, unanswered] = isNarrowed() ? [sumOf(messages), sumOf(messages.filter((m) => m.answered === false))] : [capture.sample.seen, asked];
  return `Messages a second from ${clock(capture, first)} to ${clock(capture, last)} UTC on ${day(capture, first)}: ` +
    `${isNarrowed() ? about(capture) : ""}${counted(count, "message")}, ${counted(unanswered, "unanswered request")}`;
}

// Dragging selects a range of time.
function choose(svg, on, capture) {
  const mark = draw("rect", { class: "span", y: 0, height: HEIGHT - BOTTOM });
  const mark_span = (from, to) => {
    const [left, right] = [on.x(from), on.x(to)];
    mark.setAttribute("x", left);
    mark.setAttribute("width", Math.max(right - left, 1));
  };
  if (state.from !== undefined || state.to !== undefined) {
    mark_span(state.from ?? on.first, state.to ?? on.first + on.count * on.step);
    svg.append(mark);
  }
  const place = (event) => on.at(event.clientX - svg.getBoundingClientRect().left);
  let start;
  svg.addEventListener("pointerdown", (event) => {
    start = place(event);
    svg.setPointerCapture(event.pointerId);
    svg.append(mark);
    mark_span(start, start);
  });
  svg.addEventListener("pointermove", (event) => {
    if (start !== undefined) mark_span(...[start, place(event)].sort((a, b) => a - b));
  });
  svg.addEventListener("pointerup", (event) => {
    if (start === undefined) return;
    const [from, to] = [start, place(event)].sort((a, b) => a - b);
    start = undefined;
    const isClick = on.x(to) - on.x(from) < 4;
    change(isClick ? { from: undefined, to: undefined } : { from: +from.toFixed(6), to: +to.toFixed(6) });
  });
}

// The same by keyboard: two sliders, in steps of one bar.
function sliders(on, capture) {
  const chosenFrom = state.from === undefined ? 0 : Math.round((state.from - on.first) / on.step);
  const chosenTo = state.to === undefined ? on.count : Math.round((state.to - on.first) / on.step);
  for (const [id, value] of [["from", chosenFrom], ["to", chosenTo]]) {
    const slider = by(id);
    Object.assign(slider, { min: 0, max: on.count, step: 1 });
    slider.value = value;
    const text = clock(capture, on.first + value * on.step, on.step < 1 ? 3 : 0);
    slider.setAttribute("aria-valuetext", text);
    by(id + "-time").textContent = text;
  }
  by("whole").disabled = state.from === undefined && state.to === undefined;
  sliders.on = on;
}

function slid() {
  const on = sliders.on;
  const [from, to] = [Number(by("from").value), Number(by("to").value)];
  const at = (value) => +(on.first + value * on.step).toFixed(6);
  change({ from: from > 0 ? at(Math.min(from, to)) : undefined, to: to < on.count ? at(Math.max(from, to)) : undefined }, { keep: true });
}
