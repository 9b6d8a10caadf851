"""Games that are kept: played once, with the numbers of games that are played every time."""

from coverage_study.play import play_pool
from coverage_study.settings import Setting


def test_kept_games_are_not_played_again(tmp_path, monkeypatch):
    setting = Setting("diabetes", "subsets", 1, (10, 40))
    plain = play_pool(setting, 3)
    assert play_pool(setting, 3, tmp_path) == plain
    monkeypatch.setattr("shapband.engine.chunks.Job.__call__", None)  # nothing can be played
    assert play_pool(setting, 3, tmp_path) == plain


def test_missing_games_are_added(tmp_path):
    few, more = (Setting("diabetes", "subsets", 1, games) for games in ((10,), (10, 40)))
    play_pool(few, 3, tmp_path)
    assert play_pool(more, 3, tmp_path) == play_pool(more, 3)


def test_games_at_the_sizes_of_another_pool_are_kept_too(tmp_path):
    setting = Setting("diabetes", "stratified", 1, (10,))
    assert play_pool(setting, 0, tmp_path) == play_pool(setting, 0)
    names = sorted(path.name for path in (tmp_path / setting.name).iterdir())
    assert names == ["0-crossed.npy", "0.npy"]
    assert play_pool(setting, 0, tmp_path) == play_pool(setting, 0)
