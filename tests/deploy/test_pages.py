"""The overlays contain the components that docs/how-to/deploy.md names."""

import re

import pytest
import yaml

from tests.deploy.scripts import ROOT

PAGE = (ROOT / "docs" / "how-to" / "deploy.md").read_text(encoding="utf-8")
OVERLAYS = ROOT / "deploy" / "k8s" / "overlays"


@pytest.mark.parametrize("overlay", ["dev", "prod"])
def test_the_page_names_the_components_of_an_overlay(overlay: str) -> None:
    overlays = yaml.safe_load((OVERLAYS / overlay / "kustomization.yaml").read_text(encoding="utf-8"))
    said = re.search(rf"`{overlay}` has (`.*?)[;.]", PAGE)
    assert said
    assert set(re.findall(r"`([\w-]+)`", said[1])) == {each.rpartition("/")[2] for each in overlays["components"]}
