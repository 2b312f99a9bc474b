// Creates elements without parsing HTML, so that texts are never markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== undefined && value !== false) element.setAttribute(name, visible(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    element.append(child instanceof Node ? child : visible(child));
  }
  return element;
}

const make = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const draw = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

// A text from the wire, isolated so that its direction does not affect the surrounding text.
const wire = (text) => make("bdi", {}, text);

const by = (id) => document.getElementById(id);
const put = (id, ...children) => by(id).replaceChildren(...children.flat().filter(Boolean));

const button = (text, onclick, attributes = {}) => make("button", { type: "button", onclick, ...attributes }, text);

// Buttons for pages; empty if there is only one page.
function pager(page, pages, name, go) {
  if (pages < 2) return [];
  const to = (text, where) => button(text, () => go(where), { disabled: where < 0 || where >= pages || where === page });
  return [
    to("First", 0), to("Previous", page - 1),
    make("span", { class: "where" }, `${name} ${grouped(page + 1)} of ${grouped(pages)}`),
    to("Next", page + 1), to("Last", pages - 1),
  ];
}

// Whether filters are above the page and folded, as in the style, and whether messages are a list.
const isNarrow = () => matchMedia("(max-width: 900px)").matches;
const isPhone = () => matchMedia("(max-width: 600px)").matches;

// The width of a chart. Widths that were measured before something was drawn are known: to measure one after that,
// the browser would lay out the whole page.
const widths = new Map(), insets = new Map();
const widthOf = (id) => Math.max(widths.get(id) || by(id).clientWidth || 900, 320);

// A section's own width is known also where its content is out of sight and not laid out.
function measure() {
  for (const id of ["timeline", "times", "ladder"]) {
    const width = by(id + "-section").clientWidth;
    if (width && !insets.has(id)) insets.set(id, width - by(id).clientWidth);
    widths.set(id, width && width - insets.get(id));
  }
}

// A text, truncated to this number of characters.
function shortened(text, most) {
  const letters = [...visible(text)];
  return letters.length <= most ? letters.join("") : letters.slice(0, most - 1).join("") + "\u2026";
}

// The colour of each protocol, which is the same in all charts.
function colour(protocol) {
  const all = captures.flatMap((it) => it.summary.protocols.map((row) => row.protocol));
  return "p" + ([...new Set(all)].sort().indexOf(protocol) % 6);
}
