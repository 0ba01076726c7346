"""Line breaks, justification and direction."""


def test_width(difference):
    assert not difference
