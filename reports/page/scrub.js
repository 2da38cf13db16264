"use strict";
// The scrubber: a moment of a picture, and what every lane is in then. The
// arrow keys move it, and so does the pointer.
const seconds = (ns) => (ns / 1e9).toFixed(3) + " s";
const scrub = (figure) => {
  const svg = figure.querySelector("svg.timeline");
  if (!svg || !svg.dataset.to || figure.querySelector("input.moment")) return; // a picture of a cause leaves time out
  const from = Number(svg.dataset.from), to = Number(svg.dataset.to), left = 132, right = 1104;
  // The title of a bar is its own, or that of its group.
  const title = (r) => r.querySelector("title") ?? r.closest("g")?.querySelector("title");
  const bars = [...svg.querySelectorAll("rect")].filter(title).map((r) => ({
    x: r.x.baseVal.value, w: Math.max(r.width.baseVal.value, 1), text: title(r).textContent,
  }));
  const input = document.createElement("input");
  Object.assign(input, {type: "range", className: "moment", min: 0, max: 1000, value: 0});
  input.setAttribute("aria-label", "moment of the picture");
  const state = document.createElement("ul");
  state.className = "state";
  const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
  line.setAttribute("class", "now");
  svg.append(line);
  const show = () => {
    const x = left + (right - left) * input.value / 1000, at = from + (to - from) * input.value / 1000;
    line.setAttribute("d", "M" + x + " 0V" + svg.viewBox.baseVal.height);
    input.setAttribute("aria-valuetext", seconds(at));
    const items = [...new Set(bars.filter((b) => b.x <= x && x <= b.x + b.w).map((b) => b.text))];
    state.replaceChildren(...[seconds(at) + ":", ...(items.length ? items : ["nobody holds or waits"])].map((text) => {
      const li = document.createElement("li");
      li.textContent = text;
      return li;
    }));
  };
  input.addEventListener("input", show);
  svg.addEventListener("click", (e) => {
    const box = svg.getBoundingClientRect(), x = (e.clientX - box.left) / box.width * svg.viewBox.baseVal.width;
    input.value = Math.round(1000 * (x - left) / (right - left));
    show();
  });
  figure.querySelector(".wide").after(input, state);
};
