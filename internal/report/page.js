// Opens what a link points into, finds cases by their text, and puts two episodes of a case side by side. The page is whole without it.
(function () {
  "use strict";
  function all(at, what) { return Array.prototype.slice.call(at.querySelectorAll(what)); }
  function make(tag, name, text) {
    var e = document.createElement(tag);
    e.className = name;
    e.textContent = text || "";
    return e;
  }

  function open() {
    var at = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  }
  addEventListener("hashchange", open);
  open();

  // Of a case with more than two episodes, two are shown: those that data-pick names, until others are chosen.
  function choose(beside) {
    var episodes = all(beside, ".episode"), picked = beside.getAttribute("data-pick").split(" ").map(Number);
    var bar = make("p", "choose"), whole = make("button", "", "all " + episodes.length);
    function show() {
      episodes.forEach(function (e, i) {
        e.hidden = whole.getAttribute("aria-pressed") === "false" && picked.indexOf(i) < 0;
        e.style.order = picked.indexOf(i) < 0 ? 2 : picked.indexOf(i);
      });
    }
    picked.forEach(function (place, side) {
      var select = make("select", "");
      select.setAttribute("aria-label", side ? "episode on the right" : "episode on the left");
      episodes.forEach(function (e, i) { select.add(new Option(e.getAttribute("data-label"), i, false, i === place)); });
      select.addEventListener("change", function () {
        picked[side] = Number(select.value);
        whole.setAttribute("aria-pressed", "false");
        show();
      });
      bar.append(select, side ? "" : make("span", "", "beside"));
    });
    whole.type = "button";
    whole.setAttribute("aria-pressed", "false");
    whole.addEventListener("click", function () {
      whole.setAttribute("aria-pressed", String(whole.getAttribute("aria-pressed") === "false"));
      show();
    });
    bar.append(whole);
    beside.before(bar);
    beside.removeAttribute("data-pick");
    show();
  }
  document.addEventListener("toggle", function (e) {
    all(e.target, ":scope > .beside[data-pick]").forEach(choose);
  }, true);

  var find = document.getElementById("find");
  if (!find) return;
  find.parentElement.hidden = false;
  var cases = all(document, "#worse .case, #episodes .case");
  find.addEventListener("input", function () {
    var words = find.value.toLowerCase().split(/\s+/), left = 0;
    cases.forEach(function (c) {
      var text = c.getAttribute("data-find").toLowerCase();
      c.hidden = !words.every(function (w) { return text.indexOf(w) >= 0; });
      if (!c.hidden) left++;
    });
    document.getElementById("found").textContent = find.value ? left + " of " + cases.length : "";
  });
})();
