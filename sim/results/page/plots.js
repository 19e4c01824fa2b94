// Plots: each becomes interactive when it comes near the window; until then, and without scripts, it is a picture.

const root = document.documentElement;

// Colours of the page for text, ground and rules of a plot. light-dark() has to be resolved for plotly.
function resolved(name) {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}

function dressed(layout) {
  const text = resolved("--text"), rule = resolved("--rule"), ground = resolved("--ground");
  const made = { ...layout, font: { color: text, family: "system-ui, sans-serif", size: 13 }, paper_bgcolor: ground,
    plot_bgcolor: ground, margin: { l: 60, r: 20, t: 30, b: 50 }, hoverlabel: { font: { size: 13 } },
    legend: { orientation: "h", y: -0.18, yanchor: "top" }, height: layout.height || 460 };
  for (const name of Object.keys(layout).filter((key) => /^[xy]axis\d*$/.test(key))) {
    made[name] = { ...layout[name], gridcolor: rule, zerolinecolor: rule, linecolor: rule };
  }
  if (!made.xaxis.title.text && layout.legend === undefined) made.legend.y = -0.1;
  return made;
}

async function loadPlotly() {
  const packed = Uint8Array.from(atob(document.getElementById("plotly").textContent), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const script = document.createElement("script");
  script.textContent = await new Response(stream).text();
  document.head.append(script);
}

let loaded = null;
const drawn = new Map();        // figure element -> its layout, as it is now

async function draw(element) {
  if (drawn.has(element)) return;
  const { data, layout } = JSON.parse(element.querySelector("script").textContent);
  drawn.set(element, layout);
  await (loaded ??= loadPlotly());
  const place = element.querySelector(".drawn");
  place.replaceChildren();
  place.style.minHeight = 0;
  await Plotly.newPlot(place, data, dressed(layout), { responsive: true, displaylogo: false,
    toImageButtonOptions: { filename: element.id } });
  const axis = layout.yaxis;
  const toggle = element.querySelector("[data-toggle=log]");
  toggle.hidden = axis.type === "category";
  toggle.setAttribute("aria-pressed", axis.type === "log");
  toggle.addEventListener("click", () => {
    axis.type = axis.type === "log" ? "linear" : "log";
    toggle.setAttribute("aria-pressed", axis.type === "log");
    Plotly.react(place, data, dressed(layout));
  });
}

function redress() {
  for (const [element, layout] of drawn) {
    const place = element.querySelector(".drawn");
    if (place.data) Plotly.react(place, place.data, dressed(layout));
  }
}

const near = new IntersectionObserver((entries) => {
  for (const entry of entries) if (entry.isIntersecting) draw(entry.target);
}, { rootMargin: "400px" });

for (const element of document.querySelectorAll("figure.plot")) {
  element.querySelector("a[download$='.svg']").href = element.querySelector("img").src;
  near.observe(element);
}

// A click goes from the system's choice to the other one, and back.
document.getElementById("theme").addEventListener("click", () => {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  if (root.dataset.theme) delete root.dataset.theme;
  else root.dataset.theme = dark ? "light" : "dark";
  redress();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redress);
