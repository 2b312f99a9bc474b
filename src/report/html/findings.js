// Findings below the rules that they break; the page already contains the rules.

// Number of findings of a party that are listed at first.
const FOUND = 5;

function showFindings(capture, messages) {
  const found = chosenFindings(capture, messages);
  const ofKind = new Map();
  for (const finding of found) collect(ofKind, kindOf(finding), finding);
  const notes = document.querySelector("[data-notes]");
  let [noted, rules] = [0, 0];
  for (const card of document.querySelectorAll("[data-rule]")) {
    const kind = kindOf({ rule: card.dataset.rule, severity: card.dataset.severity }), own = ofKind.get(kind) || [];
    card.hidden = !own.length;
    if (!own.length) continue;
    const all = isNarrowed() ? {} : capture.kinds.get(kind);
    const least = isNarrowed() && capture.isPartial ? "at least " : "";
    card.querySelector("[data-count]").textContent = howOften(own, { ...all, least, leastOpen: least });
    card.querySelector("[data-parties]").replaceChildren(...parties(capture, kind, own));
    if (notes?.contains(card)) [noted, rules] = [noted + (all.sure ?? own.filter((f) => !isOpen(f)).length), rules + 1];
  }
  if (notes) {
    notes.hidden = !rules;
    // Chosen notes are shown.
    notes.open = isNarrowed();
    notes.querySelector("summary").textContent = `Notes: ${grouped(noted)} of ${counted(rules, "rule")}`;
  }
  by("no-findings").hidden = found.length > 0;
}

// The number of some findings, and of inconclusive ones among them. `sure`, `open`: how many there are, where these are some of them.
function howOften(some, { sure, open, least = "", leastOpen = "" }) {
  const listedOpen = some.filter(isOpen).length, listed = some.length - listedOpen;
  const number = (all, listed, least, word) => all && `${least}${grouped(all)} ${word}` + (all > listed ? ` (${grouped(listed)} listed)` : "");
  return [number(sure ?? listed, listed, least, "\u00D7"), number(open ?? listedOpen, listedOpen, leastOpen, "inconclusive")]
    .filter(Boolean).join(", ");
}

// The parties with most findings: without a choice those of the check, and of inconclusive findings those of listed ones.
function parties(capture, kind, own) {
  const { parties, all, open, listedOpen } = capture.kinds.get(kind);
  const named = new Map(parties.map((party) => [party.name, party]));
  const groups = new Map(isNarrowed() ? [] : parties.map((party) => [party.name, []]));
  for (const finding of own) {
    const party = finding.party === null ? finding.who : finding.who === "client" ? host(finding.party) : finding.party;
    collect(groups, party, finding);
  }
  const count = ([name, of]) => (!isNarrowed() && named.get(name)?.count) || 0;
  const sorted = [...groups].sort((a, b) => count(b) - count(a) || b[1].length - a[1].length);
  const least = isNarrowed() && capture.isPartial ? "at least " : "";
  const section = ([party, of]) => {
    const list = make("ul", {});
    const fillIn = (from, to) => {
      list.append(...of.slice(from, to).map((finding) => item(capture, finding)));
      if (!of.length) list.append(make("li", {}, "Not listed: of each rule, the page has only the first findings."));
      if (to >= of.length) return;
      const more = make("li", {}, button(`${grouped(Math.min(of.length - to, 100))} more of ${grouped(of.length)}`, () => {
        const next = list.children.length - 1;
        more.remove();
        fillIn(to, to + 100);
        list.children[next]?.querySelector("button")?.focus();
      }));
      list.append(more);
    };
    const isUnfolded = sorted.length <= 3 && !kind.endsWith(" note");
    // The lists of folded parties are made when they are needed.
    if (isUnfolded) fillIn(0, FOUND);
    const who = named.get(party)?.who ?? (of[0].party === null || of[0].who === "any" ? "" : of[0].who);
    const opened = () => list.children.length || fillIn(0, FOUND);
    const number = howOften(of, { sure: count([party]) || undefined, least, leastOpen: least || (open > listedOpen ? "at least " : "") });
    return make("details", { class: "party", open: isUnfolded, ontoggle: opened },
      make("summary", {}, `${who} ${party}: ${number}`.trimStart()), list);
  };
  const shown = sorted.slice(0, 10).map(section);
  const others = (isNarrowed() ? sorted.length : all + sorted.filter(([name, of]) => !named.has(name) && of.every(isOpen)).length) - shown.length;
  if (others > 0) shown.push(make("p", { class: "more" }, `and ${counted(others, "other")}: choose one under Party`));
  return shown;
}

// A finding with its position and text, which opens its message.
function item(capture, finding) {
  const frame = finding.frames[finding.frames.length - 1];
  const when = finding.at === undefined ? "" : clock(capture, finding.at) + " ";
  const place = frame ? `${when}packet ${grouped(frame)}` : "no packet";
  const open = isOpen(finding) ? "? " : "";
  return make("li", {},
    finding.of ? button(place, () => openMessage(finding.of), { class: "place" }) : make("span", { class: "place" }, place),
    " ", wire(open + finding.message));
}
