// The distribution of response times.

function showTimes(capture, messages) {
  // All are sorted once, and those of a choice are taken from them.
  capture.timed ??= capture.sample.messages.filter((m) => m.response_time !== undefined && m.copy_of === undefined)
    .sort((a, b) => a.response_time - b.response_time);
  const own = isNarrowed() ? new Set(messages) : undefined;
  const times = capture.timed.filter((m) => !own || own.has(m)).map((m) => [Math.max(m.response_time, 1e-6), m.weight]);
  by("times-section").hidden = !times.length;
  if (!times.length) return;
  const [p50, p95, longest] = [50, 95, 100].map((percent) => percentile(times, percent));
  // Twenty bars for each power of ten, and at least two powers.
  const fine = 20, slot = (time) => Math.floor(Math.log10(time) * fine + 1e-9);
  const middle = (slot(times[0][0]) + slot(longest)) / 2;
  const low = Math.floor(Math.min(slot(times[0][0]) - 2, middle - fine)), high = Math.ceil(Math.max(slot(longest) + 3, middle + fine));
  const bars = Array.from({ length: high - low }, () => 0);
  for (const [time, weight] of times) bars[slot(time) - low] += weight;
  const width = Math.min(widthOf("times"), 900) - LEFT - 8, height = 150, most = Math.max(...bars);
  const x = (time) => LEFT + ((Math.log10(time) * fine - low) / bars.length) * width;
  const y = (count) => height - 22 - (count / most) * (height - 46);
  const all = about(capture) + counted(times.reduce((sum, [, weight]) => sum + weight, 0), "response");
  const text = `${all}: half of them within ${span(p50)}, 95 % within ${span(p95)}, the slowest after ${span(longest)}`;
  const svg = draw("svg", { width: width + LEFT + 8, height, viewBox: `0 0 ${width + LEFT + 8} ${height}`, role: "img", "aria-label": text });
  bars.forEach((count, nth) => {
    if (!count) return;
    const [from, to] = [10 ** ((low + nth) / fine), 10 ** ((low + nth + 1) / fine)];
    svg.append(draw("rect", { class: "bar", x: x(from) + 1, width: x(to) - x(from) - 2, y: y(count), height: Math.max(y(0) - y(count), 1) },
      draw("title", {}, `${span(from)} to ${span(to)}: ${counted(count, "response")}`)));
  });
  svg.append(draw("text", { class: "axis end", x: LEFT - 6, y: y(most) + 4 }, grouped(most)),
    draw("line", { class: "grid", x1: LEFT, x2: LEFT + width, y1: y(0), y2: y(0) }));
  for (let decade = Math.floor(low / fine); decade * fine <= high; decade += 1) {
    for (const time of [1, 2, 5].map((n) => n * 10 ** decade).filter((time) => x(time) >= LEFT && x(time) <= LEFT + width)) {
      svg.append(draw("text", { class: "axis middle", x: x(time), y: height - 6 }, span(time)));
    }
  }
  [[p50, "half"], [p95, "95 %"]].forEach(([time, name], nth) => {
    const isFar = x(time) > width - 60;
    svg.append(draw("line", { class: "limit", x1: x(time), x2: x(time), y1: 8 + nth * 13, y2: y(0) }),
      draw("text", { class: isFar ? "axis end" : "axis", x: x(time) + (isFar ? -4 : 4), y: 16 + nth * 13 }, `${name} ${span(time)}`));
  });
  put("times", make("p", {}, text + "."), svg);
}
