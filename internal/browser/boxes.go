package browser

import "os"

// boxes measures the lines of text of a page. Its value lists those that cover another
// one or leave the page. Readers scroll a table on a narrow
// screen only.
const boxes = `(() => {
  const found = [], all = [], style = document.head.appendChild(document.createElement("style"));
  style.textContent = "* { content-visibility: visible !important; }"; // what has no layout has no boxes
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n; n = walk.nextNode();) {
    const e = n.parentElement;
    if (!n.data.trim() || e.closest("title, script, style, select, .defs, .now") || !e.checkVisibility({checkOpacity: true, checkVisibilityCSS: true})) continue;
    const range = document.createRange();
    range.selectNodeContents(n);
    for (const b of e.closest("svg") ? [e.getBoundingClientRect()] : range.getClientRects())
      if (b.width > 1 && b.height > 1) all.push({text: n.data.trim().slice(0, 60), b, e});
  }
  for (const {text, b, e} of all) {
    if (!e.closest(".wide") && (b.left < -1 || b.right > innerWidth + 1)) found.push("leaves the page: " + text);
  }
  all.sort((x, y) => x.b.top - y.b.top);
  for (const [i, x] of all.entries())
    for (let j = i + 1; j < all.length && all[j].b.top < x.b.bottom; j++) {
      const y = all[j], across = Math.min(x.b.right, y.b.right) - Math.max(x.b.left, y.b.left), down = Math.min(x.b.bottom, y.b.bottom) - y.b.top;
      const stuck = [x, y].some(z => getComputedStyle(z.e.closest("th") || z.e).position === "sticky");
      // Boxes of text are higher than the text itself.
      if (across > 1.5 && down > Math.min(x.b.height, y.b.height) / 3 && !stuck) found.push("covers another text: " + x.text + " | " + y.text);
    }
  for (const wide of document.querySelectorAll(".wide"))
    if (innerWidth >= 1400 && wide.scrollWidth > wide.clientWidth + 1) found.push("cut by " + (wide.scrollWidth - wide.clientWidth) + " px: " + (wide.getAttribute("aria-label") || wide.textContent.trim().slice(0, 60)));
  for (const tile of document.querySelectorAll(".tile b"))
    if (tile.textContent.length < 12 && tile.getClientRects().length && tile.clientHeight > 1.5 * parseFloat(getComputedStyle(tile).lineHeight)) found.push("a number in two lines: " + tile.textContent);
  return [...new Set(found)];
})()`

// Covered lists the texts that cover another one or leave the page.
func (p *Page) Covered() []string {
	p.b.t.Helper()
	var found []string
	p.Eval(boxes, &found)
	return found
}

// axe is where make setup puts axe-core.
const axe = "/usr/local/lib/node_modules/axe-core/axe.min.js"

// Barriers lists what keeps readers out who see little, or nothing. It opens what the page
// folds. Without axe-core it finds nothing, or fails the test if HOLDFAST_REQUIRE_AXE is set.
func (p *Page) Barriers() []string {
	p.b.t.Helper()
	script, err := os.ReadFile(axe)
	if err != nil && os.Getenv("HOLDFAST_REQUIRE_AXE") != "" {
		p.b.t.Fatal(err)
	} else if err != nil {
		p.b.t.Log("no axe-core in " + axe + ": nobody looks for barriers in the page; make setup installs it")
		return nil
	}
	p.Eval(string(script), nil)
	var found []string
	p.Eval(`(async () => {
  for (const d of document.querySelectorAll("details")) d.open = true;
  const {violations} = await axe.run(document, {resultTypes: ["violations"]});
  return violations.map(v => v.id + ", " + v.nodes.length + " times: " + v.nodes[0].failureSummary + " " + v.nodes[0].html.slice(0, 200));
})()`, &found)
	return found
}
