"""A headless Chromium of the system; nothing is downloaded."""

import json
import shutil

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# In a container there is neither a sandbox nor much shared memory.
_OPTIONS = ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars")


class Browser:
    """A page at a time, as people see it: at a width, in a colour scheme."""

    def __init__(self):
        program = next((found for found in map(shutil.which, _BROWSERS) if found), None)
        driver = shutil.which("chromedriver")
        if program is None or driver is None:
            raise RuntimeError("chromium and chromedriver are not on the PATH: .ci/browser installs them")
        options = Options()
        options.binary_location = program
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        for option in _OPTIONS:
            options.add_argument(option)
        self.driver = webdriver.Chrome(options=options, service=Service(driver))

    def close(self):
        self.driver.quit()

    def open(self, path, *, width=1200, scheme="light"):
        # Without smooth scrolling: what is clicked would still be on its way.
        media = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"}
        self._do("Emulation.setEmulatedMedia", features=[{"name": name, "value": media[name]} for name in media])
        size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
        self._do("Emulation.setDeviceMetricsOverride", **size)
        self.driver.get("about:blank")
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        self._go(path.resolve().as_uri())

    def _go(self, address):
        # On a busy machine the driver now and then comes back while the page is still being read.
        self.driver.get(address)
        loaded = "return location.href === arguments[0] && document.readyState === 'complete'"
        WebDriverWait(self.driver, timeout=60).until(lambda driver: driver.execute_script(loaded, address))

    def _do(self, command, **parameters):
        return self.driver.execute_cdp_cmd(command, parameters)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def find(self, selector):
        return self.driver.find_element("css selector", selector)

    def find_all(self, selector):
        return self.driver.find_elements("css selector", selector)

    def console(self):
        """What was written to the console since the page was opened."""
        return self.driver.get_log("browser")

    def requests(self):
        """The addresses that were asked for since the page was opened."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        return [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
