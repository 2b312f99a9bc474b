import gamewire


def test_the_package_has_a_version():
    assert gamewire.__version__ == "0.1.0"
