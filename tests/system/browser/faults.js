// Looks for layout faults in the page that it stands in, and tells the frame around it: {width, dark, faults: [...]}. What is to
// be seen in one page only, it asks of window.expectations, if there is one.
(function () {
  var faults = [];
  function fault(what, element) {
    var text = element ? (element.textContent || '').trim().slice(0, 60) : '';
    faults.push(what + (element ? ': <' + element.tagName.toLowerCase() + '> ' + text : ''));
  }
  function boxes(list) {
    return list.map(function (e) { return {element: e, box: e.getBoundingClientRect()}; });
  }
  function overlap(a, b) {
    return a.left < b.right - 0.5 && b.left < a.right - 0.5 && a.top < b.bottom - 0.5 && b.top < a.bottom - 0.5;
  }
  function all(selector, root) { return Array.prototype.slice.call((root || document).querySelectorAll(selector)); }
  function pairs(list, what) {
    for (var i = 0; i < list.length; i++)
      for (var j = i + 1; j < list.length; j++)
        if (overlap(list[i].box, list[j].box)) fault(what, list[j].element);
  }
  function luminance(color) {
    var parts = color.match(/[\d.]+/g).slice(0, 3).map(function (v) {
      v /= 255;
      return v <= 0.03928 ? v / 12.92 : Math.pow((v + 0.055) / 1.055, 2.4);
    });
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  }
  function background(element) {
    for (; element; element = element.parentElement) {
      var color = getComputedStyle(element).backgroundColor;
      if (!/rgba\(.*, 0\)/.test(color)) return color;
    }
    return 'rgb(255,255,255)';
  }
  function check_contrast(element, color) {
    var a = luminance(color), b = luminance(background(element.closest('svg') ? element.closest('div') : element));
    var ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) fault('contrast ' + ratio.toFixed(1), element);
  }
  function check_svg(svg) {
    var frame = svg.getBoundingClientRect();
    boxes(all('text', svg)).forEach(function (one) {
      if (one.box.left < frame.left - 1 || one.box.right > frame.right + 1 || one.box.top < frame.top - 1 ||
          one.box.bottom > frame.bottom + 1) fault('text outside its picture', one.element);
    });
    pairs(boxes(all('text', svg)), 'texts overlap in a picture');
    pairs(boxes(all('.n rect', svg)), 'nodes overlap');
    all('.n', svg).forEach(function (node) {
      var rect = node.querySelector('rect').getBoundingClientRect();
      var text = node.querySelector('text').getBoundingClientRect();
      if (text.left < rect.left || text.right > rect.right) fault('a name is wider than its node', node);
    });
  }
  function check() {
    var root = document.documentElement;
    if (root.scrollWidth > innerWidth) fault('the page is ' + root.scrollWidth + ' wide in ' + innerWidth);
    all('body *').forEach(function (element) {
      if (element.closest('svg') || element.tagName === 'SCRIPT' || !element.offsetParent) return;
      var style = getComputedStyle(element);
      if (element.scrollWidth > element.clientWidth + 1 && element.clientWidth && style.overflowX !== 'auto' &&
          style.display !== 'inline') fault('text is cut off or runs over', element);
      if (element.childNodes.length && element.children.length === 0 && element.textContent.trim())
        check_contrast(element, style.color);
    });
    all('svg text').forEach(function (element) { check_contrast(element, getComputedStyle(element).fill); });
    all('svg').forEach(check_svg);
    pairs(boxes(all('body > *').filter(function (e) { return e.offsetParent && e.tagName !== 'SCRIPT'; })), 'parts overlap');
    all('summary').forEach(function (e) {
      if (e.offsetParent && e.getBoundingClientRect().height < 24) fault('too low to be touched', e);
    });
    if (window.pwned || document.querySelector('.pwned, #pwned')) fault('hostile text was taken as markup');
    check_filters();
  }
  function check_filters() {
    var list = all('details.violation'), kind = document.getElementById('kind'), text = document.getElementById('text');
    if (!list.length) return;
    var visible = function () { return list.filter(function (e) { return !e.hidden; }).length; };
    if (visible() !== list.length) fault('not all violations are shown at first');
    text.value = 'no violation says this';
    text.dispatchEvent(new Event('input'));
    if (visible() !== 0) fault('the search hides nothing');
    text.value = '';
    kind.value = list[0].dataset.kind;
    kind.dispatchEvent(new Event('change'));
    var same = list.filter(function (e) { return e.dataset.kind === list[0].dataset.kind; }).length;
    if (visible() !== same) fault('the choice of a kind shows ' + visible() + ' instead of ' + same);
    kind.value = '';
    kind.dispatchEvent(new Event('change'));
  }
  addEventListener('load', function () {
    setTimeout(function () { // not a frame: what is off the screen gets none
      all('details').forEach(function (e) { e.open = true; });
      if (window.expectations) window.expectations(fault);
      check();
      parent.postMessage({width: innerWidth, dark: matchMedia('(prefers-color-scheme: dark)').matches, faults: faults}, '*');
    }, window.check_after || 0); // a page that fills itself says how long it takes
  });
})();
