// Opens what a link points into, and finds cases by their text. The page is whole without it.
(function () {
  "use strict";
  function open() {
    var at = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  }
  addEventListener("hashchange", open);
  open();
  var find = document.getElementById("find");
  if (!find) return;
  find.parentElement.hidden = false;
  var cases = Array.prototype.slice.call(document.querySelectorAll("#worse .case, #episodes .case"));
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
