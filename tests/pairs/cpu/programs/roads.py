"""Finds the busiest crossings of a network of roads."""
import networkx as nx


def main():
    roads = nx.connected_watts_strogatz_graph(700, 6, 0.2, seed=1)
    centrality = nx.betweenness_centrality(roads)
    components = nx.number_connected_components(roads)
    busiest = sorted(centrality, key=centrality.get)[-3:]
    print(components, busiest, f"{nx.average_clustering(roads):.4f}")


if __name__ == "__main__":
    main()
