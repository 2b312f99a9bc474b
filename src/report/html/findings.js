// Findings below the rules that they break; the page already contains the rules.

// Number of findings of a party that are listed at first.
const FOUND = 5;

function showFindings(capture, messages) {
  const found = chosenFindings(capture, messages);
  const ofRule = new Map();
  for (const finding of found) collect(ofRule, finding.rule, finding);
  const counts = new Map(capture.check.rules.map((rule) => [rule.code, rule]));
  for (const card of document.querySelectorAll("[data-rule]")) {
    const code = card.getAttribute("data-rule");
    const own = ofRule.get(code) || [];
    card.hidden = !own.length;
    if (!own.length) continue;
    card.querySelector("[data-count]").textContent = count(own, counts.get(code));
    card.querySelector("[data-parties]").replaceChildren(...parties(capture, own));
  }
  const notes = document.querySelector("[data-notes]");
  if (notes) {
    const own = [...notes.querySelectorAll("[data-rule]:not([hidden])")].map((card) => card.getAttribute("data-rule"));
    const of = own.reduce((sum, code) => sum + certain(ofRule.get(code), counts.get(code)), 0);
    notes.hidden = !own.length;
    // Chosen notes are shown.
    notes.open = isNarrowed();
    notes.querySelector("summary").textContent = `Notes: ${grouped(of)} of ${counted(own.length, "rule")}`;
  }
  by("no-findings").hidden = found.length > 0;
}

// The number of certain findings: without a choice that of the check, which may have kept only some.
function certain(own, rule) {
  const sure = own.filter((f) => f.verdict !== "inconclusive").length;
  return isNarrowed() || !rule ? sure : Math.max(sure, rule.failed + (rule.notes || 0));
}

// The same as text, with those that are inconclusive.
function count(own, rule) {
  const open = own.filter((f) => f.verdict === "inconclusive").length;
  const [sure, all] = [own.length - open, certain(own, rule)];
  const least = isNarrowed() && capture().isPartial ? "at least " : "";
  const shown = all > sure ? ` (${grouped(sure)} listed)` : "";
  return [sure && least + grouped(all) + " \u00D7" + shown, open && grouped(open) + " inconclusive"].filter(Boolean).join(", ");
}

function parties(capture, own) {
  const groups = new Map();
  for (const finding of own) {
    const party = finding.party === null ? finding.who : finding.who === "client" ? host(finding.party) : finding.party;
    collect(groups, party, finding);
  }
  const sorted = [...groups].sort((a, b) => b[1].length - a[1].length);
  const section = ([party, of]) => {
    const list = make("ul", {});
    const fillIn = (from, to) => {
      list.append(...of.slice(from, to).map((finding) => item(capture, finding)));
      if (to >= of.length) return;
      const more = make("li", {}, button(`${grouped(Math.min(of.length - to, 100))} more of ${grouped(of.length)}`, () => {
        const next = list.children.length - 1;
        more.remove();
        fillIn(to, to + 100);
        list.children[next]?.querySelector("button")?.focus();
      }));
      list.append(more);
    };
    const isOpen = sorted.length <= 3 && of[0].severity !== "note";
    // The lists of folded parties are made when they are needed.
    if (isOpen) fillIn(0, FOUND);
    const who = of[0].party === null || of[0].who === "any" ? "" : of[0].who + " ";
    const opened = () => list.children.length || fillIn(0, FOUND);
    return make("details", { class: "party", open: isOpen, ontoggle: opened },
      make("summary", {}, `${who}${party}: ${grouped(of.length)} \u00D7`), list);
  };
  const shown = sorted.slice(0, 10).map(section);
  if (sorted.length > 10) {
    shown.push(make("p", { class: "more" }, `and ${counted(sorted.length - 10, "other")}: choose one under Party`));
  }
  return shown;
}

// A finding with its position and text, which opens its message.
function item(capture, finding) {
  const frame = finding.frames[finding.frames.length - 1];
  const when = finding.at === undefined ? "" : clock(capture, finding.at) + " ";
  const place = frame ? `${when}packet ${grouped(frame)}` : "no packet";
  const open = finding.verdict === "inconclusive" ? "? " : "";
  return make("li", {},
    finding.of ? button(place, () => openMessage(finding.of), { class: "place" }) : make("span", { class: "place" }, place),
    " ", wire(open + finding.message));
}
